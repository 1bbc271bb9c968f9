"""Records per second through the consume loop: inbox claim, one fact, one outbox row each.

Peer in the same run: a bare loop that claims and inserts the same rows with executemany.
"""

import asyncio
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter, process_time

from consumers.decider import Decider, Intent, Message
from consumers.once import DecideOnce, Edges
from event_schemas.codec import Headers
from event_schemas.deadlines import DeadlinePassed
from event_schemas.ids import derived_id
from event_schemas.payload import Payload
from event_schemas.registry import BY_PAYLOAD, names
from infra import database
from infra.clock import Clock
from infra.inbox import start_progress
from infra.observability import ConsumerMetrics, configure_logs
from infra.wakeup import Wakeup

TOPIC = "caseops.events"
BATCH = 500
BATCHES = 20


@dataclass(slots=True)
class Raw:
    """One raw record."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def react(message: Message) -> Sequence[Intent]:
    """Return one command per message."""
    run = message.envelope.runid or ""
    return [Intent(message.payload, f"deadline/{run}", run, "bench", run)]


def decide(
    state: int, command: Payload, observed: None, now: datetime
) -> Sequence[Payload]:
    """Return one fact per command."""
    return [command]


def records(first: int) -> list[Raw]:
    """Return one batch of records from offset *first*."""
    entry = BY_PAYLOAD[DeadlinePassed]
    out = []
    for offset in range(first, first + BATCH):
        run = derived_id("bench", offset // 10)
        data = DeadlinePassed.model_validate(
            {
                "run_id": run,
                "about": "run",
                "subject_id": run,
                "due_at": "2026-07-23T02:10:00Z",
                "observed_at": "2026-07-23T02:10:00Z",
            },
            strict=False,
        ).model_dump_json()
        headers = {
            "ce_specversion": "1.0",
            "ce_id": derived_id("event", offset),
            "ce_source": "/caseops/bench",
            "ce_type": entry.name,
            "ce_time": "2026-07-23T02:10:00.000000Z",
            "content-type": "application/json",
            "ce_tenantid": "bench",
            "ce_runid": run,
            "ce_correlationid": run,
            "ce_partitionkey": run,
        }
        pairs: list[tuple[str, bytes | None]] = [
            (n, v.encode()) for n, v in headers.items()
        ]
        out.append(Raw(TOPIC, 0, offset, run.encode(), data.encode(), pairs))
    return out


async def once(url: str, first: int) -> tuple[float, float]:
    """Return records per second and CPU microseconds per record of one run."""
    pool = database.pool(url, "deadline_clock")
    await pool.open()
    decider = Decider(
        "deadline_clock",
        names(DeadlinePassed),
        react,
        decide,
        lambda s, e: s + 1,
        lambda: 0,
    )
    edges = Edges(pool, Clock(pool), Wakeup(pool), ConsumerMetrics("bench"), "caseops")
    loop = DecideOnce("bench", decider, edges)
    async with pool.connection() as connection:
        await start_progress(connection, "bench", {(TOPIC, 0): first})
    loop.offsets[TOPIC, 0] = first
    batches = [records(first + n * BATCH) for n in range(BATCHES)]
    begun, cpu = perf_counter(), process_time()
    for batch in batches:
        await loop.handle(batch)
    took, used = perf_counter() - begun, process_time() - cpu
    await pool.close()
    total = BATCH * BATCHES
    return total / took, used / total * 1e6


async def main(url: str, runs: int) -> None:
    """Print the figures of *runs* runs and their median."""
    configure_logs("ERROR", "text")
    figures = []
    for run in range(runs):
        figures.append(await once(url, run * BATCH * BATCHES))
        rate, cpu = figures[-1]
        print(f"  run {run + 1}: {rate:,.0f} records/s, {cpu:.0f} us CPU each")
    print(f"median {statistics.median(f[0] for f in figures):,.0f} records/s")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5))
