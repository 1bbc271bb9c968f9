"""The ticker: due times become facts, exactly one each, however many clocks run."""

import asyncio
from dataclasses import dataclass
from time import monotonic

from consumers.deadline_clock.table import Due, seconds_to_next, take_due
from consumers.once import Edges
from event_schemas.deadlines import DeadlinePassed
from event_schemas.ids import event_id, traceparent
from event_schemas.registry import BY_PAYLOAD
from event_schemas.topics import full_name
from infra.database import translated
from infra.errors import Transient
from infra.event_log import Fact
from infra.inbox import forget_old
from infra.unit_of_work import Batch, write

LONGEST_SLEEP = 1.0
SHORTEST_SLEEP = 0.01
PER_BATCH = 500
HOUSEKEEPING_SECONDS = 3600.0
DEDUP_DAYS = 14


@dataclass(slots=True)
class Ticker:
    """Turns due times into facts, exactly one each, however many clocks run.

    Once an hour it also drops inbox claims beyond the window in which ids are remembered.
    """

    edges: Edges
    _housekeeping_due: float = 0.0

    async def run(self) -> None:
        """Tick until cancelled; a database that is away is waited for."""
        while True:
            try:
                await self._keep_house()
                taken = await self.tick()
                pause = 0.0 if taken == PER_BATCH else await self._pause()
            except Transient as error:
                self.edges.metrics.retried(type(error.__cause__).__name__)
                pause = LONGEST_SLEEP
            await asyncio.sleep(pause)

    async def _keep_house(self) -> None:
        if monotonic() < self._housekeeping_due:
            return
        async with translated(), self.edges.pool.connection() as connection:
            await forget_old(connection, DEDUP_DAYS)
        self._housekeeping_due = monotonic() + HOUSEKEEPING_SECONDS

    async def tick(self) -> int:
        """Record the due times that are over; return how many."""
        async with (
            translated(),
            self.edges.pool.connection() as connection,
            connection.transaction(),
        ):
            due = await take_due(connection, PER_BATCH)
            if not due:
                return 0
            facts = [due_fact(each, self.edges.prefix) for each in due]
            await write(connection, Batch("deadline_clock", facts=facts))
        self.edges.wakeup.ring()
        return len(due)

    async def _pause(self) -> float:
        async with translated(), self.edges.pool.connection() as connection:
            left = await seconds_to_next(connection)
        return min(
            LONGEST_SLEEP, max(SHORTEST_SLEEP, LONGEST_SLEEP if left is None else left)
        )


def due_fact(due: Due, prefix: str) -> Fact:
    """Return the fact that the time of *due* is over; its id is that of the deadline."""
    stream = f"deadline/{due.run_id}/{due.about}/{due.subject_id}"
    identity = event_id(stream, 1)
    entry = BY_PAYLOAD[DeadlinePassed]
    payload = DeadlinePassed(
        run_id=due.run_id,
        about=due.about,
        subject_id=due.subject_id,
        due_at=due.due_at,
        observed_at=due.now,
    )
    return Fact(
        id=identity,
        key=due.key,
        stream=stream,
        streamversion=1,
        type=entry.name,
        writer="deadline_clock",
        time=due.now,
        tenant=due.tenant,
        runid=due.run_id,
        correlationid=due.key,
        causationid=due.cause_id,
        traceparent=traceparent(due.key, identity),
        planversion=None,
        dataschema=entry.dataschema,
        data=payload.model_dump_json().encode(),
        topics=tuple(full_name(prefix, topic) for topic in entry.topics),
    )
