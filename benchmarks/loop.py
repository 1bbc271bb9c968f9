"""Records per second through the consume loop: inbox claim, one fact, one outbox row each.

The peer in the same run: PostgreSQL inserting the same three rows a record, 500 records a
transaction, with nothing decoded, decided or guarded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter, process_time

import psycopg

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
from tests.support import stack

TOPIC = "caseops.events"
BATCH = 500
BATCHES = 20
_BARE = """
with n as (select number, md5(number::text) as name
             from generate_series(%s::bigint, %s::bigint) number),
i as (insert into inbox (consumer, tenant, source, id, digest, topic, partition, "offset")
      select 'bare', 't', 's', name, decode(name, 'hex'), 'topic', 0, number from n),
e as (insert into events (key, sequence, stream, streamversion, id, type, source, writer,
          time, tenant, dataschema, data)
      select name, 1, 'deadline/' || name, 1, gen_random_uuid(), 'type', 'source', 'writer',
             now(), 't', 'schema', decode(repeat(name, 8), 'hex') from n returning position, key)
insert into outbox (kind, order_key, message_key, topic, event_position)
select 'log', convert_to(key, 'UTF8'), convert_to(key, 'UTF8'), 'topic', position from e
"""


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


async def once(url: str) -> dict[str, float]:
    """Return records per second and CPU per record of one run over a fresh database."""
    pool = database.pool(url, "deadline_clock")
    await pool.open()
    decider = Decider(
        "deadline_clock",
        names(DeadlinePassed),
        react,
        decide,
        lambda s, _: s + 1,
        lambda: 0,
    )
    edges = Edges(pool, Clock(pool), Wakeup(pool), ConsumerMetrics("bench"), "caseops")
    loop = DecideOnce("bench", decider, edges)
    async with pool.connection() as connection:
        await start_progress(connection, "bench", {(TOPIC, 0): 0})
    loop.offsets[TOPIC, 0] = 0
    batches = [records(number * BATCH) for number in range(BATCHES)]
    begun, cpu = perf_counter(), process_time()
    for batch in batches:
        await loop.handle(batch)
    took, used = perf_counter() - begun, process_time() - cpu
    await pool.close()
    total = BATCH * BATCHES
    return {"records_per_second": total / took, "cpu_microseconds": used / total * 1e6}


async def peer(url: str) -> dict[str, float]:
    """Return rows per second of the same three rows a record, inserted bare: the peer."""
    rows = BATCH * BATCHES
    async with await psycopg.AsyncConnection.connect(
        url, options="-c search_path=caseops"
    ) as connection:
        begun = perf_counter()
        for first in range(0, rows, BATCH):
            async with connection.transaction():
                await connection.execute(_BARE, (first, first + BATCH - 1))
        return {"peer_records_per_second": rows / (perf_counter() - begun)}


async def measure(runs: int) -> list[dict[str, float]]:
    """Return the figures of *runs* runs, the peer measured beside each."""
    configure_logs("ERROR", "text")
    figures = []
    async with stack.postgres() as server, stack.migrated_template(server) as template:
        for _ in range(runs):
            async with stack.new_database(server, template) as url:
                ours = await once(url)
            async with stack.new_database(server, template) as url:
                bare = await peer(url)
            ratio = ours["records_per_second"] / bare["peer_records_per_second"]
            figures.append({**ours, **bare, "ratio": ratio})
    return figures
