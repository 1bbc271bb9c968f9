"""The relay, a projector and the clock's tick, over the twin."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from consumers.deadline_clock.table import Due
from consumers.deadline_clock.ticker import due_fact
from consumers.sorting import Reading, sort
from event_schemas.envelope import Envelope
from event_schemas.payload import Payload
from infra.inbox import Partition
from infra.unit_of_work import Batch
from projections.projection import Place, Projection
from tests.support.twin import World
from tests.support.twin_members import PREFIX, read_once


@dataclass(slots=True)
class Relay:
    """The relay: rows go out in order, and are deleted in a second step."""

    world: World
    sent: list[int] = field(default_factory=list)

    def send(self, count: int) -> None:
        """Publish the oldest rows; they stay until they are deleted."""
        for row in self.world.store.first_rows(count):
            self.world.topics.send(row.topic, row.key, row.headers, row.value)
            self.sent.append(row.position)

    def delete(self) -> None:
        """Delete the rows that were published."""
        for position in self.sent:
            del self.world.store.outbox[position]
        self.sent.clear()

    def crash(self) -> None:
        """Forget that rows were published: they will go out again."""
        self.sent.clear()


@dataclass(slots=True)
class Viewer:
    """A projector: its state and its progress per key are one row of the store."""

    world: World
    projection: Projection
    positions: dict[Partition, int] = field(default_factory=dict)

    def waiting(self) -> list[Partition]:
        """Return the partitions of the log that hold records not yet taken."""
        places = self.world.topics.places(f"{PREFIX}.events")
        records = self.world.topics.records
        return [p for p in places if self.positions.get(p, 0) < len(records[p])]

    def fold(self, which: int, count: int) -> None:
        """Fold the next records of a partition; a sequence seen before is passed over."""
        places = self.waiting()
        place = places[which % len(places)]
        at = self.positions.get(place, 0)
        records = self.world.topics.records[place][at : at + count]
        reading = Reading("view", PREFIX, self.projection.reads, read_once, frozenset())
        for _, message in sort(records, reading).messages:
            self._fold(message.envelope, message.payload, message.offset)
        self.positions[place] = at + len(records)

    def rewind(self, which: int, back: int) -> None:
        """Take a partition again from *back* records earlier."""
        place = self.world.topics.places(f"{PREFIX}.events")[which % 2]
        self.positions[place] = max(0, self.positions.get(place, 0) - back)

    def state_of(self, key: str) -> Any:
        """Return the folded state of *key*."""
        return self.world.store.tables["view"][key][1]

    def _fold(self, envelope: Envelope, payload: Payload, offset: int) -> None:
        key = envelope.partitionkey or ""
        rows = self.world.store.tables["view"]
        done, state = rows.get(key) or (0, self.projection.initial(Place(key, 0, offset)))
        sequence = envelope.sequence or 0
        if sequence <= done:
            return
        if sequence != done + 1:
            raise AssertionError(f"ORDER_GAP: {sequence} follows {done}")
        rows[key] = (sequence, self.projection.fold(state, envelope, payload))


def due_times(world: World) -> list[Due]:
    """Return the watched due times that are over, oldest first."""
    rows = sorted(world.store.tables["deadlines"].items(), key=lambda row: row[1][2])
    return [
        Due(about, subject, run, key, tenant, due_at, cause, world.now)
        for (run, about, subject), (key, tenant, due_at, cause) in rows
        if due_at <= world.now
    ]


def tick(world: World) -> None:
    """Turn one due time into its fact, as the clock does."""
    due = due_times(world)[0]
    world.store.write(Batch("deadline_clock", facts=[due_fact(due, PREFIX)]))
    del world.store.tables["deadlines"][due.run_id, due.about, due.subject_id]


def next_due(world: World, also: Iterable[Any] = ()) -> Any:
    """Return the next moment at which something happens by itself, None when nothing will."""
    rows = world.store.tables["deadlines"].values()
    later = [at for at in (*(row[2] for row in rows), *also) if at > world.now]
    return min(later, default=None)
