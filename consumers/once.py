"""Consume by deciding: claimed in the transaction that writes what follows.

The usual batch is one statement on cached states; any mismatch aborts it whole and the
careful path reads everything again under locks. Handlers see one message at a time.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from consumers.batches import Carrier
from consumers.claims import (
    Ahead,
    Reacted,
    after,
    not_handled,
    progress,
    to_claim,
    unclaimed,
)
from consumers.decider import Decider, Intent, Message
from consumers.failure_policy import code_of
from consumers.sorting import Reading, Record, letter, sort, to_publish
from consumers.streams import Drafts, StreamStates
from infra.clock import Clock
from infra.database import Connection, Pool, translated
from infra.errors import ConcurrentWrite, MustStop, NotPermitted, Poison, Transient
from infra.inbox import Partition, lock_progress, seen_claims, start_progress
from infra.observability import ConsumerMetrics
from infra.unit_of_work import Batch, DeadLetter, Outgoing, write
from infra.wakeup import Wakeup


class Within(Protocol):
    """A service's own tables, read and written inside the transaction of a batch."""

    async def open(self, connection: Connection, intents: Sequence[Intent]) -> set[str]:
        """Lock and read what *intents* need; return the streams they may touch."""

    def place(self, intent: Intent) -> Intent:
        """Return *intent* with stream, key and `observed` as they are now."""

    def recorded(self, intent: Intent, drafts: Drafts) -> None:
        """Note what was just decided, so that the next intent sees it."""

    async def close(self, connection: Connection) -> None:
        """Write the rows that changed."""


Observe = Callable[[Sequence[Intent]], Awaitable[Sequence[Intent]]]


@dataclass(frozen=True, slots=True)
class Edges:
    """What a deciding consumer is connected to."""

    pool: Pool
    clock: Clock
    wakeup: Wakeup
    metrics: ConsumerMetrics
    prefix: str


@dataclass(slots=True)
class DecideOnce:
    """One deciding consumer over its decider, its edges and (for some) its own tables."""

    consumer: str
    decider: Decider
    edges: Edges
    within: Callable[[datetime], Within] | None = None
    observe: Observe | None = None
    offsets: dict[Partition, int] = field(default_factory=dict)
    ahead: Ahead = field(default_factory=Ahead)
    states: StreamStates = field(init=False)
    carrier: Carrier = field(init=False)
    reading: Reading = field(init=False)

    def __post_init__(self) -> None:
        """Start with nothing cached."""
        self.states = StreamStates(self.decider)
        self.carrier = Carrier(self._attempt, self._park, self.edges.metrics)
        self.reading = Reading(
            self.consumer,
            self.edges.prefix,
            self.decider.reads,
            self.decider.parse,
            self.decider.owns,
        )

    async def handle(self, records: Sequence[Record]) -> None:
        """Handle *records* (in offset order per partition) and commit; see `Carrier.carry`."""
        await self.carrier.carry(records)

    async def _attempt(self, records: Sequence[Record], number: int) -> None:
        records = not_handled(records, self.offsets)
        if not records:
            return
        work = sort(records, self.reading)
        batch = Batch(self.consumer, skips=work.skips, dead_letters=work.letters)
        rows = [row for pair in work.messages if (row := await self._react(pair, batch))]
        batch.progress = self.ahead.onto(progress(records, self.offsets))
        if not rows and not batch.dead_letters:
            self._pass_over(records, batch)
            return
        batch.skips += self.ahead.skips
        if number > 1:
            self.states.clear()
        with self.edges.metrics.transaction():
            if number > 1 or self.within is not None:
                await self._careful(batch, rows)
            else:
                await self._fast(batch, rows)
        self.edges.metrics.handled(records, batch, work.ignored_headers)
        if batch.publishes:
            self.edges.wakeup.ring()

    def _pass_over(self, records: Sequence[Record], batch: Batch) -> None:
        """Remember a batch with nothing of ours; its skips are written with the next one."""
        self.ahead.keep(batch)
        self.offsets.update(after(batch))
        self.edges.metrics.handled(records, batch, 0)

    async def flush(self) -> None:
        """Write the skips that wait; when that fails, forget them: they will be read again."""
        batch = self.ahead.batch(self.consumer)
        self.ahead.clear()
        if batch.progress:
            try:
                async with translated(), self.edges.pool.connection() as connection:
                    await write(connection, batch)
            except (Transient, ConcurrentWrite) as error:
                self.offsets.update(
                    {(p.topic, p.partition): p.expected for p in batch.progress}
                )
                self.edges.metrics.retried(type(error).__name__)

    async def _react(self, pair: tuple[Record, Message], batch: Batch) -> Reacted | None:
        record, message = pair
        try:
            intents: Sequence[Intent] = self.decider.react(message)
            if self.observe is not None:
                intents = await self.observe(intents)
        except (Transient, MustStop):
            raise
        except Exception as error:  # noqa: BLE001 - the one park edge
            batch.dead_letters.append(letter(record, *code_of(error), message.envelope))
            return None
        return Reacted(record, message, list(intents))

    async def _fast(self, batch: Batch, rows: list[Reacted]) -> None:
        rows = unclaimed(batch, rows, {})
        now = await self.edges.clock.now()
        async with translated(), self.edges.pool.connection() as connection:
            streams = {intent.stream for row in rows for intent in row.intents}
            await self.states.load(connection, self.states.unknown(streams))
            drafts = self._decide(batch, rows, now, None)
            await write(connection, batch)
        self._committed(batch, drafts)

    async def _careful(self, batch: Batch, rows: list[Reacted]) -> None:
        now = await self.edges.clock.now()
        within = self.within(now) if self.within is not None else None
        pool = self.edges.pool
        async with translated(), pool.connection() as connection, connection.transaction():
            await self._lock(connection, batch)
            claims = [to_claim(row) for row in rows]
            rows = unclaimed(
                batch, rows, await seen_claims(connection, self.consumer, claims)
            )
            wanted = [intent for row in rows for intent in row.intents]
            streams = {intent.stream for intent in wanted if intent.stream}
            if within is not None:
                streams |= await _opened(within, connection, wanted)
            await self.states.load(connection, streams)
            drafts = self._decide(batch, rows, now, within)
            if within is not None:
                await within.close(connection)
            await write(connection, batch)
        self._committed(batch, drafts)

    async def _lock(self, connection: Connection, batch: Batch) -> None:
        """Lock the progress rows; when somebody moved them, take note and start over."""
        places = [(row.topic, row.partition) for row in batch.progress]
        stored = await lock_progress(connection, self.consumer, places)
        missing = {place: 0 for place in places if place not in stored}
        if missing:
            await start_progress(connection, self.consumer, missing)
        expected = {(row.topic, row.partition): row.expected for row in batch.progress}
        if {**missing, **stored} != expected:
            self.ahead.clear()
            self.offsets.update(stored)
            raise ConcurrentWrite("progress")

    def _decide(
        self, batch: Batch, rows: list[Reacted], now: datetime, within: Within | None
    ) -> Drafts:
        drafts = Drafts(self.decider, self.states, self.edges.prefix, now)
        for row in rows:
            mark = drafts.mark()
            try:
                _decide_one(drafts, row, within)
            except Exception as error:  # noqa: BLE001 - the one park edge
                drafts.rewind(mark)
                code, detail = code_of(error)
                batch.dead_letters.append(
                    letter(row.record, code, detail, row.message.envelope)
                )
            else:
                batch.claims.append(to_claim(row))
        batch.facts = drafts.facts
        batch.guards = drafts.guards()
        batch.outgoing = drafts.orders + [self._for_people(d) for d in batch.dead_letters]
        return drafts

    def _committed(self, batch: Batch, drafts: Drafts) -> None:
        self.states.keep(drafts.states)
        self.ahead.clear()
        self.offsets.update(after(batch))

    def _for_people(self, dead: DeadLetter) -> Outgoing:
        return to_publish(dead, consumer=self.consumer, prefix=self.edges.prefix)

    async def _park(self, record: Record, error: Exception) -> None:
        dead = letter(record, *code_of(error))
        batch = Batch(self.consumer, dead_letters=[dead], outgoing=[self._for_people(dead)])
        batch.progress = self.ahead.onto(progress([record], self.offsets))
        batch.skips += self.ahead.skips
        async with translated(), self.edges.pool.connection() as connection:
            await write(connection, batch)
        self.ahead.clear()
        self.offsets.update(after(batch))
        self.edges.metrics.handled([record], batch, 0)
        self.edges.wakeup.ring()


async def _opened(
    within: Within, connection: Connection, intents: Sequence[Intent]
) -> set[str]:
    """Open *within*; what a message's data breaks there condemns it, not the service."""
    try:
        async with translated():
            return await within.open(connection, intents)
    except (Transient, ConcurrentWrite, NotPermitted, Poison, MustStop):
        raise
    except Exception as error:
        raise Poison(*code_of(error)) from error


def _decide_one(drafts: Drafts, row: Reacted, within: Within | None) -> None:
    for intent in row.intents:
        placed = within.place(intent) if within is not None else intent
        drafts.add(row.message, placed)
        if within is not None:
            within.recorded(placed, drafts)
