"""Consume by projecting: the answer is a view, folded and written in one transaction.

A projector's inbox is its progress per key: what is at or below it had its effect, what is
next is folded, and what is further on waits until the events in between are found in the
store. A key whose event cannot be folded is held; other keys go on.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from consumers.batches import Carrier
from consumers.claims import after, not_handled, place_of, progress
from consumers.decider import Message
from consumers.failure_policy import code_of
from consumers.folding import Folded, Folding, KeyStates, refused
from consumers.once import Edges
from consumers.sorting import Reading, Record, Sorted, letter, sort, to_publish
from event_schemas.registry import read
from infra.database import Connection, translated
from infra.errors import Transient
from infra.event_log import load_key
from infra.inbox import Partition, read_progress, start_progress
from infra.observability import HANDLED
from infra.unit_of_work import Batch, write
from infra.view_progress import KeyProgress, lock_held, lock_keys, save_keys
from projections.projection import FOLDED, Place, Projection, Row

RETRY_SECONDS = 5.0
HELD_PER_ROUND = 100


class ViewTable(Protocol):
    """Where the states of a view are read from and its rows are written."""

    async def load(self, connection: Connection, keys: Collection[str]) -> dict[str, Any]:
        """Return the folded states of *keys* that are stored."""

    async def save(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Write *rows*."""


def _tell_nobody(_: Sequence[Folded]) -> None:
    return None


@dataclass(slots=True)
class ProjectOnce:
    """One projector over its projection, its table and its edges.

    *told* hears of the folded events after their commit: at least once, for metrics only.
    """

    consumer: str
    projection: Projection
    table: ViewTable
    edges: Edges
    told: Callable[[Sequence[Folded]], None] = _tell_nobody
    offsets: dict[Partition, int] = field(default_factory=dict)
    states: KeyStates = field(default_factory=KeyStates)
    carrier: Carrier = field(init=False)
    reading: Reading = field(init=False)

    def __post_init__(self) -> None:
        """Start with nothing kept."""
        self.carrier = Carrier(self._attempt, self._park, self.edges.metrics)
        self.reading = Reading(
            self.consumer,
            self.edges.prefix,
            self.projection.reads,
            read,
            self.projection.owns,
        )

    async def handle(self, records: Sequence[Record]) -> None:
        """Handle *records* (in offset order per partition) and commit; see `Carrier.carry`."""
        await self.carrier.carry(records)

    async def flush(self) -> None:
        """Nothing waits in memory: every batch of the log is written as it comes."""

    async def keep_retrying(self) -> None:
        """Try held keys again and again, until cancelled."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            try:
                await self.retry_held()
            except Transient as error:
                self.edges.metrics.retried(type(error.__cause__).__name__)

    async def retry_held(self) -> int:
        """Fold what the store now has of the held keys; return how many are released."""
        pool, view = self.edges.pool, self.projection.view
        async with translated(), pool.connection() as connection, connection.transaction():
            locked = await lock_held(connection, view, HELD_PER_ROUND)
            folding = await self._open(connection, locked)
            for key in locked:
                folding.begin(Place(key, 0, 0))
                await self._catch_up(connection, folding, key, None)
            await self._save(connection, folding)
        self.states.keep(folding.states, folding.progress)
        self.told(folding.folded)
        return sum(1 for row in folding.changed().values() if row.held is None)

    async def _attempt(self, records: Sequence[Record], number: int) -> None:
        if number > 1:
            self.states.clear()
            await self._look_again(records)
        records = not_handled(records, self.offsets)
        if not records:
            return
        work = sort(records, self.reading)
        batch = Batch(self.consumer, skips=work.skips, dead_letters=work.letters)
        batch.progress = progress(records, self.offsets)
        with self.edges.metrics.transaction():
            folding = await self._project(work, batch)
        self.states.keep(folding.states, folding.progress)
        self._committed(records, batch, work.ignored_headers)
        self.told(folding.folded)

    async def _look_again(self, records: Sequence[Record]) -> None:
        """Read where the partitions stand: another member may have moved them."""
        places = {place_of(record) for record in records}
        async with translated(), self.edges.pool.connection() as connection:
            stored = await read_progress(connection, self.consumer, places)
            missing = {place: 0 for place in places if place not in stored}
            await start_progress(connection, self.consumer, missing)
        self.offsets.update(missing)
        self.offsets.update({place: row[0] for place, row in stored.items()})

    async def _project(self, work: Sorted, batch: Batch) -> Folding:
        keys = {m.envelope.partitionkey for _, m in work.messages} - {None}
        pool, view = self.edges.pool, self.projection.view
        async with translated(), pool.connection() as connection, connection.transaction():
            locked = await lock_keys(connection, view, [key for key in keys if key])
            folding = await self._open(connection, locked)
            for record, message in work.messages:
                await self._take(connection, folding, batch, (record, message))
            await self._save(connection, folding)
            self._for_people(batch)
            await write(connection, batch)
        return folding

    async def _open(
        self, connection: Connection, locked: dict[str, KeyProgress]
    ) -> Folding:
        known = self.states.at(locked)
        cold = [k for k, row in locked.items() if row.sequence > 0 and k not in known]
        if cold:
            known |= await self.table.load(connection, cold)
        return Folding(self.projection, locked, known)

    async def _take(
        self,
        connection: Connection,
        folding: Folding,
        batch: Batch,
        pair: tuple[Record, Message],
    ) -> None:
        record, message = pair
        envelope = message.envelope
        key, sequence = envelope.partitionkey, envelope.sequence
        if key is None or not sequence:
            detail = "an event of the log has a sequence and a partitionkey"
            batch.dead_letters.append(letter(record, "BAD_HEADER", detail, envelope))
            return
        at = folding.progress[key]
        if sequence <= at.sequence:
            self._count(batch, record, "duplicate")
            return
        folding.begin(Place(key, record.partition, record.offset if sequence == 1 else 0))
        ready = at.held is None and sequence == at.sequence + 1
        if not ready and not await self._catch_up(connection, folding, key, sequence):
            self._count(batch, record, "held")
            return
        try:
            folding.fold(key, envelope, message.payload)
        except Exception as error:  # noqa: BLE001 - the one park edge
            folding.hold(key, refused(error, envelope))
            batch.dead_letters.append(letter(record, *code_of(error), envelope))
        else:
            self._count(batch, record, FOLDED)

    async def _catch_up(
        self, connection: Connection, folding: Folding, key: str, below: int | None
    ) -> bool:
        above = folding.progress[key].sequence
        found = await load_key(connection, key, above, below)
        return folding.catch_up(key, found, below)

    async def _save(self, connection: Connection, folding: Folding) -> None:
        changed = folding.changed()
        if changed:
            await self.table.save(connection, folding.rows())
            await save_keys(connection, self.projection.view, changed)

    async def _park(self, record: Record, error: Exception) -> None:
        """Park the one record that the database refuses, and hold its key."""
        work = sort([record], self.reading)
        batch = Batch(self.consumer, progress=progress([record], self.offsets))
        envelope = work.messages[0][1].envelope if work.messages else None
        batch.dead_letters.append(letter(record, *code_of(error), envelope))
        self._for_people(batch)
        key = envelope.partitionkey if envelope else None
        pool, view = self.edges.pool, self.projection.view
        async with translated(), pool.connection() as connection, connection.transaction():
            if envelope is not None and key is not None:
                at = (await lock_keys(connection, view, [key]))[key]
                held = {key: replace(at, held=refused(error, envelope)[:500])}
                await save_keys(connection, view, held)
            await write(connection, batch)
        self._committed([record], batch, 0)

    @staticmethod
    def _count(batch: Batch, record: Record, reason: str) -> None:
        batch.skips[record.topic, record.partition, reason] += 1

    def _for_people(self, batch: Batch) -> None:
        batch.outgoing = [
            to_publish(dead, consumer=self.consumer, prefix=self.edges.prefix)
            for dead in batch.dead_letters
        ]

    def _committed(
        self, records: Sequence[Record], batch: Batch, ignored_headers: int
    ) -> None:
        self.offsets.update(after(batch))
        counted: Mapping[tuple[str, int, str], int] = batch.skips
        folded = sum(n for (_, _, reason), n in counted.items() if reason == FOLDED)
        HANDLED.labels(self.consumer).inc(folded)
        passed = Counter({k: n for k, n in batch.skips.items() if k[2] != FOLDED})
        self.edges.metrics.handled(records, replace(batch, skips=passed), ignored_headers)
        if batch.publishes:
            self.edges.wakeup.ring()
