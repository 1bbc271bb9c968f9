"""Deciding consumers of the production wiring, over the twin.

A member keeps in memory what a real one keeps, and loses it in a crash. Deciding and
committing are two steps, so that anything can happen between them.
"""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar

from consumers.claims import (
    Ahead,
    Reacted,
    after,
    not_handled,
    progress,
    to_claim,
    unclaimed,
)
from consumers.deadline_clock.decider import Watch
from consumers.deadline_clock.table import DeadlineRows
from consumers.decider import Decider, Intent
from consumers.failure_policy import code_of
from consumers.intake.table import CaseBook
from consumers.once import DecideOnce, Within
from consumers.sorting import Reading, letter, sort, to_publish
from consumers.streams import Drafts, StreamStates
from event_schemas.delegations import ExecuteDelegation
from event_schemas.envelope import Envelope
from event_schemas.payload import Payload
from event_schemas.registry import read
from infra.database import Connection
from infra.errors import ConcurrentWrite
from infra.inbox import Partition
from infra.unit_of_work import Batch
from tests.support.records import RawRecord
from tests.support.twin import TwinStore, World

PREFIX = "caseops"
Answer = TypeVar("Answer")


@lru_cache(maxsize=20_000)
def _parsed(name: str, data: bytes) -> Payload:
    return read(Envelope("-", "-", name, None, data))


def read_once(envelope: Envelope) -> Payload:
    """Return the payload of *envelope*; equal bytes are parsed once for all orders."""
    return _parsed(envelope.type, envelope.data)


def finished(asked: Coroutine[Any, Any, Answer]) -> Answer:
    """Return what *asked* gives: in the twin nothing ever waits."""
    try:
        asked.send(None)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    raise AssertionError("the twin waits for nothing")


@dataclass(slots=True)
class Prepared:
    """A batch decided in memory and not yet written."""

    records: Sequence[RawRecord]
    batch: Batch
    drafts: Drafts
    within: Within | None


@dataclass(slots=True)
class Member:
    """One process of a deciding consumer."""

    world: World
    service: DecideOnce
    topics: Sequence[str]
    decider: Decider = field(init=False)
    reading: Reading = field(init=False)
    states: StreamStates = field(init=False)
    places: list[Partition] = field(init=False)
    positions: dict[Partition, int] = field(init=False)
    offsets: dict[Partition, int] = field(init=False)
    ahead: Ahead = field(init=False)
    prepared: Prepared | None = field(init=False)
    idle_since: int | None = field(init=False)

    def __post_init__(self) -> None:
        """Start where the store says, as after a crash."""
        decider = self.service.decider
        self.decider = (
            replace(decider, parse=read_once) if decider.parse is read else decider
        )
        self.reading = replace(self.service.reading, parse=self.decider.parse)
        of = self.world.topics.places
        self.places = sorted(place for topic in self.topics for place in of(topic))
        self.world.store.start_progress(self.name, self.places)
        self.crash()

    @property
    def name(self) -> str:
        """The consumer's name."""
        return self.service.consumer

    def crash(self) -> None:
        """Lose everything in memory and start again from the store."""
        self.states, self.ahead, self.prepared = StreamStates(self.decider), Ahead(), None
        self.idle_since = None
        self.offsets = self._stored()
        self.positions = dict(self.offsets)

    def rewind(self, which: int, back: int) -> None:
        """Take a partition again from *back* records earlier, with the memory of then."""
        place = self.places[which % len(self.places)]
        at = max(0, self.positions[place] - back)
        self.positions[place] = self.offsets[place] = at
        self.idle_since = None
        self.ahead.clear()

    def waiting(self) -> list[Partition]:
        """Return the partitions that hold records this member has not taken."""
        topics, positions = self.world.topics, self.positions
        if self.idle_since == topics.sent:
            return []
        records = topics.records
        found = [place for place in self.places if positions[place] < len(records[place])]
        self.idle_since = None if found else topics.sent
        return found

    def prepare(self, which: int, count: int) -> None:
        """Take up to *count* records of a waiting partition and decide on them in memory."""
        places = self.waiting()
        place = places[which % len(places)]
        at = self.positions[place]
        records = self.world.topics.records[place][at : at + count]
        self.positions[place] = at + len(records)
        self.prepared = self._attempt(records, first=True)
        if self.service.within is not None:  # holds locks: decided and written as one
            self.commit()

    def commit(self) -> None:
        """Write what was decided; when somebody was faster, read again and decide again."""
        prepared, self.prepared = self.prepared, None
        if prepared is None:
            return
        try:
            self._write(prepared)
        except ConcurrentWrite:
            self.states.clear()
            self.ahead.clear()
            self.offsets = self._stored()
            again = self._attempt(prepared.records, first=False)
            if again is not None:
                self._write(again)

    def flush(self) -> None:
        """Write the skips that wait in memory."""
        batch = self.ahead.batch(self.name)
        self.ahead.clear()
        try:
            self.world.store.write(batch)
        except ConcurrentWrite:
            self.offsets = self._stored()

    def _write(self, prepared: Prepared) -> None:
        self.world.store.write(prepared.batch)
        if prepared.within is not None:
            _close(prepared.within, self.world.store)
        self.states.keep(prepared.drafts.states)
        self.ahead.clear()
        self.offsets.update(after(prepared.batch))

    def _stored(self) -> dict[Partition, int]:
        rows = self.world.store.progress.items()
        return {(topic, part): at for (name, topic, part), at in rows if name == self.name}

    def _attempt(self, taken: Sequence[RawRecord], *, first: bool) -> Prepared | None:
        records = not_handled(taken, self.offsets)
        if not records:
            return None
        work = sort(records, self.reading)
        batch = Batch(self.name, skips=work.skips, dead_letters=work.letters)
        rows = [row for pair in work.messages if (row := self._react(pair, batch))]
        batch.progress = self.ahead.onto(progress(records, self.offsets))
        if not rows and not batch.dead_letters:
            self.ahead.keep(batch)
            self.offsets.update(after(batch))
            return None
        batch.skips += self.ahead.skips
        seen: dict[tuple[str, str, str], bytes] = {}
        if not first or self.service.within is not None:
            names = [(c.tenant, c.source, c.id) for c in map(to_claim, rows)]
            seen = self.world.store.seen(self.name, names)
        return self._decide(
            Prepared(taken, batch, *self._drafts()), unclaimed(batch, rows, seen)
        )

    def _drafts(self) -> tuple[Drafts, Within | None]:
        now, factory = self.world.now, self.service.within
        within = factory(now) if factory is not None else None
        if within is not None:
            _open(within, self.world.store)
        return Drafts(self.decider, self.states, PREFIX, now), within

    def _react(self, pair: Any, batch: Batch) -> Reacted | None:
        record, message = pair
        try:
            intents = self.decider.react(message)
            if self.service.observe is not None:
                intents = finished(self.service.observe(intents))  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - the one park edge, as in the loop
            batch.dead_letters.append(letter(record, *code_of(error), message.envelope))
            return None
        return Reacted(record, message, list(intents))

    def _decide(self, prepared: Prepared, rows: Sequence[Reacted]) -> Prepared:
        batch, drafts = prepared.batch, prepared.drafts
        for row in rows:
            self._decide_one(prepared, row)
        batch.facts, batch.guards = drafts.facts, drafts.guards()
        letters = [
            to_publish(dead, consumer=self.name, prefix=PREFIX)
            for dead in batch.dead_letters
        ]
        batch.outgoing = drafts.orders + letters
        return prepared

    def _decide_one(self, prepared: Prepared, row: Reacted) -> None:
        batch, drafts, within = prepared.batch, prepared.drafts, prepared.within
        mark = drafts.mark()
        try:
            for intent in row.intents:
                placed = within.place(intent) if within is not None else intent
                self._load(placed.stream, fresh=within is not None)
                drafts.add(row.message, placed)
                if within is not None:
                    within.recorded(placed, drafts)
        except Exception as error:  # noqa: BLE001 - the one park edge, as in the loop
            drafts.rewind(mark)
            code = code_of(error)
            batch.dead_letters.append(letter(row.record, *code, row.message.envelope))
        else:
            batch.claims.append(to_claim(row))

    def _load(self, stream: str, *, fresh: bool) -> None:
        if not fresh and not self.states.unknown([stream]):
            return
        version, state = self.states.get(stream)
        for event in self.world.store.load({stream: version})[stream]:
            state = self.decider.evolve(state, read_once(event.envelope))
            version = event.envelope.streamversion or version
        self.states.keep({stream: (version, state)})


@dataclass(slots=True)
class WorkItem:
    """A delegation in a specialist's hands, and how many answers it has submitted."""

    specialist: str
    order: ExecuteDelegation
    intent: Intent
    answered: int = 0


@dataclass(slots=True)
class WorkItems:
    """The work items one batch of a scripted specialist adds."""

    specialist: str
    intents: list[Intent] = field(default_factory=list)

    async def open(self, connection: Connection, intents: Sequence[Intent]) -> set[str]:
        """Need nothing before the decision."""
        return set()

    def place(self, intent: Intent) -> Intent:
        """Return *intent* as it is."""
        return intent

    def recorded(self, intent: Intent, drafts: Drafts) -> None:
        """Remember the row to write."""
        self.intents.append(intent)

    async def close(self, connection: Connection) -> None:
        """Write nothing: the twin has no connection."""


class _Rows(dict[Any, Any]):
    """Rows of a table as a batch sees them: a row nobody wrote is there and empty."""

    def __missing__(self, key: Any) -> None:
        return None


def _open(within: Within, store: TwinStore) -> None:
    if isinstance(within, CaseBook):
        within.signals = _Rows(store.tables["case_signals"])
        within.groups = _Rows(store.tables["open_cases"])


def _close(within: Within, store: TwinStore) -> None:
    if isinstance(within, CaseBook):
        store.tables["case_signals"] = dict(within.signals)
        store.tables["open_cases"] = dict(within.groups)
    if isinstance(within, DeadlineRows):
        for intent in within.intents:
            _watch_or_forget(store.tables["deadlines"], intent)
    if isinstance(within, WorkItems):
        for intent in within.intents:
            item = WorkItem(within.specialist, intent.command, intent)
            store.tables["work_items"].setdefault(intent.command.task_id, item)


def _watch_or_forget(rows: dict[Any, Any], intent: Any) -> None:
    command, run = intent.command, intent.run_id
    if isinstance(command, Watch):
        watched = (intent.key, intent.tenant, command.due_at, command.cause_id)
        rows.setdefault((run, command.about, command.subject_id), watched)
        return
    about = (run, command.about, command.subject_id)
    for name in [n for n in rows if n == about or (command.about is None and n[0] == run)]:
        del rows[name]
