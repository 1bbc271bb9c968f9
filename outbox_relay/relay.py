"""Rows of the outbox to Kafka, order kept per key: select, send, await all, delete.

A crash between send and delete sends the same ids again; consumers drop them. Order within a
key holds across topics as `rounds` says. After any failed send the producer is rebuilt and
the rows are sent again from the first undeleted one, one at a time, until the guilty row is
known: it is parked, its lane (order key and topic) waits, all others flow. The look at the table
starts at a floor below the oldest unpublished row; every ten seconds, and whenever a lane may
have been freed, it starts at the oldest row, so that transactions that commit late and rows
that an operator retries are found, in order.
"""

import asyncio
from collections.abc import Sequence
from time import monotonic

import structlog
from aiokafka.errors import TopicAuthorizationFailedError, UnknownTopicOrPartitionError

from infra.outbox import Outbox, OutboxRow, Window
from outbox_relay import metrics
from outbox_relay.backoff import Backoff
from outbox_relay.delivery import Delivery, Outcome
from outbox_relay.health import RelayHealth
from outbox_relay.listening import Wake
from outbox_relay.refusals import Refusal, refusal_of
from outbox_relay.rounds import heads_of, split_round
from outbox_relay.slices import Slices

BATCH_ROWS = 1000
IDLE_SECONDS = 1.0
TEND_SECONDS = 1.0
RESCAN_SECONDS = 10.0
# Positions below the floor that are looked at again: room for transactions that commit late.
FLOOR_MARGIN = 2000

_log = structlog.get_logger()


class Relay:
    """One relay at work on the slices it owns, over one database connection."""

    def __init__(self, outbox: Outbox, delivery: Delivery, log_topic: str) -> None:
        self._outbox = outbox
        self._delivery = delivery
        self._log_topic = log_topic
        self._slices = Slices(outbox.connection)
        self._window = Window(limit=BATCH_ROWS)
        self._careful_until = 0
        self._suspect = (0, 0)
        self._backoff = Backoff()
        self._tended_at = self._rescanned_at = float("-inf")

    async def work(self, wake: Wake, stop: asyncio.Event, health: RelayHealth) -> None:
        """Publish until *stop* is set; a batch that was begun is finished and deleted."""
        await self._slices.join()
        while not stop.is_set():
            await self._tend(wake)
            wake.clear()
            rows = await self._look()
            await self._publish(rows)
            health.progressed()
            if not self._has_more(rows):
                await wake.wait(IDLE_SECONDS)

    def _has_more(self, rows: Sequence[OutboxRow]) -> bool:
        suspects_left = self._careful_until > 0 and not self._delivery.asking()
        return suspects_left or self._window.is_filled_by(rows)

    async def _tend(self, wake: Wake) -> None:
        now = monotonic()
        if now - self._tended_at >= TEND_SECONDS:
            self._tended_at = now
            wake.rescan = await self._slices.balance() or wake.rescan
            self._window.slices = self._slices.owned
            metrics.SLICES.set(len(self._slices.owned))
        if wake.rescan or now - self._rescanned_at >= RESCAN_SECONDS:
            wake.rescan = False
            self._rescanned_at = now
            self._window.floor = 0
            # In this order: a lane freed after this query is seen whole by the next rescan.
            self._window.held = await self._outbox.held(self._slices.owned)
            await self._measure()

    async def _measure(self) -> None:
        rows, age, parked = await self._outbox.backlog()
        metrics.BACKLOG.set(rows)
        metrics.OLDEST_AGE.set(age)
        metrics.PARKED.set(parked)

    async def _look(self) -> list[OutboxRow]:
        self._window.waiting = self._delivery.asking()
        rows = await self._outbox.select(self._window)
        metrics.BATCH_SIZE.observe(len(rows))
        return rows

    async def _publish(self, rows: list[OutboxRow]) -> None:
        ready = await self._with_known_topic(rows)
        published: list[OutboxRow] = []
        try:
            careful = [row for row in ready if row.position <= self._careful_until]
            if await self._one_by_one(careful, published):
                # A topic that is being asked for may hide rows that are under suspicion.
                self._careful_until *= bool(self._delivery.asking())
                await self._in_rounds(ready[len(careful) :], published)
        finally:
            await self._delete(published)
        done = {row.position for row in published}
        self._raise_floor(
            rows, next((r.position for r in rows if r.position not in done), None)
        )

    def _raise_floor(self, rows: Sequence[OutboxRow], oldest_left: int | None) -> None:
        if rows:
            reached = rows[-1].position if oldest_left is None else oldest_left - 1
            self._window.floor = max(0, reached - FLOOR_MARGIN)

    async def _in_rounds(self, rows: list[OutboxRow], published: list[OutboxRow]) -> None:
        pending = rows
        while pending:
            now, later = split_round(pending, self._log_topic)
            outcome = await self._delivery.send(now)
            published.extend(outcome.acknowledged)
            if outcome.failed:
                self._careful_until = max(row.position for row, _ in outcome.failed)
                await self._rebuild(outcome)
                return
            if not outcome.acknowledged:
                return
            pending = sorted([*outcome.unsent, *later])

    async def _one_by_one(self, rows: list[OutboxRow], published: list[OutboxRow]) -> bool:
        for row in rows:
            outcome = await self._delivery.send([row])
            published.extend(outcome.acknowledged)
            if outcome.acknowledged:
                continue
            if not outcome.failed:
                return False
            error = outcome.failed[0][1]
            refusal = refusal_of(error, self._tries(row))
            if refusal is not None:
                whole = refusal.whole_topic
                await self._park(heads_of(rows, row.topic) if whole else [row], refusal)
            await self._rebuild(outcome, guilty_known=refusal is not None)
            return False
        return True

    def _tries(self, row: OutboxRow) -> int:
        position, tries = self._suspect
        self._suspect = (row.position, tries + 1 if position == row.position else 1)
        return self._suspect[1]

    async def _rebuild(self, outcome: Outcome, *, guilty_known: bool = False) -> None:
        row, error = outcome.failed[0]
        metrics.ERRORS.labels(type(error).__name__).inc()
        _log.warning(
            "relay_send_failed",
            topic=row.topic,
            position=row.position,
            rows=len(outcome.failed),
            error=f"{type(error).__name__}: {error}",
        )
        if outcome.acknowledged or guilty_known:
            self._backoff.reset()
        else:
            await self._backoff.wait()
        await self._delivery.open(self._log_topic)

    async def _with_known_topic(self, rows: list[OutboxRow]) -> list[OutboxRow]:
        ready = rows
        for topic in {row.topic for row in rows}:
            try:
                known = self._delivery.partitions(topic) is not None
            except (UnknownTopicOrPartitionError, TopicAuthorizationFailedError) as error:
                known = False
                refusal = Refusal(f"{type(error).__name__}: {error}", whole_topic=True)
                await self._park(heads_of(rows, topic), refusal)
            if not known:
                ready = [row for row in ready if row.topic != topic]
        return ready

    async def _park(self, rows: Sequence[OutboxRow], refusal: Refusal) -> None:
        await self._outbox.park([row.position for row in rows], refusal.reason)
        self._window.held = {*self._window.held, *(row.lane for row in rows)}
        for row in rows:
            _log.error(
                "outbox_row_parked",
                position=row.position,
                kind=row.kind,
                topic=row.topic,
                error=refusal.reason,
            )

    async def _delete(self, published: Sequence[OutboxRow]) -> None:
        if not published:
            return
        await self._outbox.delete(row.position for row in published)
        for kind in {row.kind for row in published}:
            count = sum(1 for row in published if row.kind == kind)
            metrics.PUBLISHED.labels(kind).inc(count)
