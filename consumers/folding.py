"""The keys of a view inside one batch: folded in memory, kept by key and sequence after it."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from consumers.failure_policy import code_of
from event_schemas.envelope import Envelope
from event_schemas.payload import Payload
from event_schemas.registry import read
from infra.event_log import Recorded
from infra.view_progress import KeyProgress
from projections.projection import Place, Projection, Row

KEPT_KEYS = 5_000


@dataclass(frozen=True, slots=True)
class Folded:
    """One event that is in the view, with the state of its key after it."""

    envelope: Envelope
    payload: Payload
    state: Any


class KeyStates:
    """The folded states of recently used keys, each with the sequence it is folded to."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def at(self, progress: Mapping[str, KeyProgress]) -> dict[str, Any]:
        """Return the kept states that stand where *progress* says the view stands."""
        return {
            key: self._kept[key][1]
            for key, row in progress.items()
            if key in self._kept and self._kept[key][0] == row.sequence
        }

    def keep(self, states: Mapping[str, Any], progress: Mapping[str, KeyProgress]) -> None:
        """Keep *states* after their rows were committed; forget the least used ones."""
        for key, state in states.items():
            self._kept[key] = (progress[key].sequence, state)
            self._kept.move_to_end(key)
        while len(self._kept) > KEPT_KEYS:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget everything, after a write that did not go through."""
        self._kept.clear()


@dataclass(slots=True)
class Folding:
    """What one batch does to the keys it touches; *before* are the states it began with."""

    projection: Projection
    locked: dict[str, KeyProgress]
    before: dict[str, Any]
    progress: dict[str, KeyProgress] = field(init=False)
    states: dict[str, Any] = field(init=False)
    folded: list[Folded] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin where the view stands."""
        self.progress = dict(self.locked)
        self.states = dict(self.before)

    def begin(self, place: Place) -> None:
        """Give a key its first state, unless it has one."""
        if place.key not in self.states:
            known = self.locked[place.key].sequence > 0
            first = Place(place.key, place.partition, 0) if known else place
            self.states[place.key] = self.before[place.key] = self.projection.initial(first)

    def fold(self, key: str, envelope: Envelope, payload: Payload) -> None:
        """Fold the next event of *key*; raises what the fold raises and changes nothing then."""
        state = self.projection.fold(self.states[key], envelope, payload)
        self.states[key] = state
        self.progress[key] = KeyProgress(envelope.sequence or 0)
        self.folded.append(Folded(envelope, payload, state))

    def hold(self, key: str, why: str) -> None:
        """Hold *key* back: nothing of it is folded until *why* is gone."""
        self.progress[key] = KeyProgress(self.progress[key].sequence, why[:500])

    def catch_up(self, key: str, events: Sequence[Recorded], below: int | None) -> bool:
        """Fold *events* of the store; say whether the next one is now *below* (None: all are in).

        A key that did not move keeps the reason it is held for.
        """
        begun = self.progress[key]
        for event in events:
            envelope = event.envelope
            if envelope.sequence != self.progress[key].sequence + 1:
                break
            try:
                self.fold(key, envelope, read(envelope))
            except Exception as error:  # noqa: BLE001 - the key is held, others go on
                self.hold(key, refused(error, envelope))
                return False
        reached = self.progress[key].sequence
        last = events[-1].envelope.sequence if events else begun.sequence
        wanted = (last or 0) if below is None else below - 1
        moved = reached > begun.sequence
        if reached < wanted and (moved or begun.held is None):
            self.hold(key, f"ORDER_GAP: events {reached + 1} to {wanted} are missing")
        if reached < wanted or (below is None and not moved):
            return False
        self.progress[key] = KeyProgress(reached)
        return True

    def changed(self) -> dict[str, KeyProgress]:
        """Return the progress of the keys that moved, or that are held or released."""
        return {key: at for key, at in self.progress.items() if at != self.locked[key]}

    def rows(self) -> Sequence[Row]:
        """Return the view rows that changed."""
        return [
            row
            for key, state in self.states.items()
            if state is not self.before[key]
            for row in self.projection.rows(self.before[key], state)
        ]


def refused(error: Exception, envelope: Envelope) -> str:
    """Return why a key is held whose event the fold refused."""
    code, detail = code_of(error)
    return f"{code}: event {envelope.sequence} ({envelope.id}): {detail}"
