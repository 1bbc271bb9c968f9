"""How fast the relay publishes: rows per second, and commit to record at a consumer."""

import asyncio
import contextlib
import json
from statistics import quantiles
from time import perf_counter, process_time
from typing import Any
from uuid import uuid5

import psycopg
from aiokafka import TopicPartition
from prometheus_client import REGISTRY

from event_schemas.ids import NAMESPACE
from infra.kafka.clients import consumer
from infra.kafka.topics import Wanted, ensure
from outbox_relay.app import Place, run
from outbox_relay.health import RelayHealth
from tests.support import stack
from tests.support.eventually import eventually
from tests.support.relay_process import relay_process

PARTITIONS = 6
KEYS = 500
DATA = json.dumps({"schema_version": 1, "text": "x" * 380}).encode()
PER_SECOND = 500

_FACTS = """
with e as (
  insert into events (key, sequence, stream, streamversion, id, type, source, writer, time,
      tenant, runid, correlationid, causationid, traceparent, dataschema, data)
  select u.key, u.sequence, 'run/' || u.key, u.sequence, u.id,
         'dev.caseops.run.status_changed.v1', '/caseops/supervisor', 'supervisor',
         clock_timestamp(), 'acme', u.key, u.key, u.id::text,
         '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'urn:caseops:schema:x', %s
    from unnest(%s::text[], %s::bigint[], %s::uuid[]) with ordinality
         u(key, sequence, id, ord) order by u.ord
  returning position, key)
insert into outbox (kind, order_key, message_key, topic, event_position)
select 'log', convert_to(key, 'UTF8'), convert_to(key, 'UTF8'), %s, position
  from e order by position
"""


class Writer:
    """Appends facts round the keys, as the services would."""

    def __init__(self, place: Place) -> None:
        self._topic = place.log_topic
        self._url = place.url
        self._count = 0

    async def connect(self) -> psycopg.AsyncConnection[Any]:
        """Return a connection that is prepared to append."""
        return await psycopg.AsyncConnection.connect(
            self._url, autocommit=True, options="-c search_path=caseops"
        )

    async def append(
        self, connection: psycopg.AsyncConnection[Any], rows: int
    ) -> list[str]:
        """Append *rows* facts with their outbox rows in one transaction; return their ids."""
        numbers = range(self._count, self._count + rows)
        self._count += rows
        keys = [str(uuid5(NAMESPACE, f"run-{number % KEYS}")) for number in numbers]
        sequences = [number // KEYS + 1 for number in numbers]
        ids = [uuid5(NAMESPACE, f"{self._topic}/{number}") for number in numbers]
        await connection.execute(_FACTS, (DATA, keys, sequences, ids, self._topic))
        return [str(identity) for identity in ids]


async def throughput(place: Place, rows: int) -> dict[str, float]:
    """Publish a backlog of *rows* facts; return rows per second and the relay's CPU."""
    writer = Writer(place)
    before = published()
    async with await writer.connect() as connection:
        for _ in range(rows // 1000):
            await writer.append(connection, 1000)
        await connection.execute("analyze events")
    async with _relay(place):
        await _until_published(before + 1)
        left = before + rows - published()
        begun, cpu = perf_counter(), process_time()
        await _until_published(before + rows)
        took = perf_counter() - begun
    return {
        "rows_per_second": left / took,
        "cpu_microseconds_per_row": (process_time() - cpu) / left * 1e6,
    }


async def latency(place: Place, seconds: float) -> dict[str, float]:
    """Commit facts at a steady rate; return commit-to-record times in milliseconds."""
    committed: dict[str, float] = {}
    taken: list[float] = []
    writer = Writer(place)
    reader = consumer(bootstrap=place.bootstrap, client_id="benchmark")
    await reader.start()
    reader.assign([TopicPartition(place.log_topic, n) for n in range(PARTITIONS)])
    with relay_process(place):  # as in production: nothing else runs in its loop
        async with await writer.connect() as connection:
            await writer.append(connection, 1)
            await _until_empty(connection)
            watching = asyncio.create_task(_watch(reader, committed, taken))
            await _steadily(connection, writer, committed, seconds)
            await _until_empty(connection)
            await asyncio.sleep(0.2)
            watching.cancel()
    await reader.stop()
    cuts = quantiles(taken, n=100)
    return {"records": len(taken), "p50_ms": cuts[49] * 1e3, "p99_ms": cuts[98] * 1e3}


async def _steadily(
    connection: psycopg.AsyncConnection[Any],
    writer: Writer,
    committed: dict[str, float],
    seconds: float,
) -> None:
    begun = perf_counter()
    for number in range(int(PER_SECOND * seconds)):
        pause = begun + number / PER_SECOND - perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        (identity,) = await writer.append(connection, 1)
        committed[identity] = perf_counter()
        await connection.execute("notify caseops_outbox")


async def _watch(
    reader: Any,  # noqa: ANN401
    committed: dict[str, float],
    taken: list[float],
) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        while True:
            found = await reader.getmany(timeout_ms=1000)
            now = perf_counter()
            for record in (record for batch in found.values() for record in batch):
                at = committed.pop(dict(record.headers)["ce_id"].decode(), None)
                if at is not None:
                    taken.append(now - at)


@contextlib.asynccontextmanager
async def _relay(place: Place) -> Any:  # noqa: ANN401
    stop = asyncio.Event()
    task = asyncio.create_task(run(place, stop, RelayHealth()))
    try:
        yield
    finally:
        stop.set()
        await task


def published() -> float:
    """Return how many rows the relays of this process have published."""
    labels = {"kind": "log"}
    return REGISTRY.get_sample_value("caseops_relay_published_total", labels) or 0


async def _until_empty(connection: psycopg.AsyncConnection[Any]) -> None:
    async def empty() -> None:
        row = await (
            await connection.execute("select exists (select from outbox)")
        ).fetchone()
        assert row == (False,)

    await eventually(empty, seconds=60)


async def _until_published(rows: float) -> None:
    while published() < rows:  # noqa: ASYNC110 - a counter has no event
        await asyncio.sleep(0.005)


async def measure(
    runs: int, rows: int = 60_000, seconds: float = 10.0
) -> list[dict[str, float]]:
    """Return the figures of *runs* runs: throughput over *rows* rows, latency for *seconds*."""
    found: list[dict[str, float]] = []
    async with contextlib.AsyncExitStack() as parts:
        bootstrap = await parts.enter_async_context(stack.kafka())
        url = await parts.enter_async_context(stack.postgres())
        template = await parts.enter_async_context(stack.migrated_template(url))
        for _ in range(runs):
            figures: dict[str, float] = {}
            async with stack.new_database(url, template) as database:
                place = await _place(database, bootstrap)
                figures |= await throughput(place, rows)
            async with stack.new_database(url, template) as database:
                place = await _place(database, bootstrap)
                figures |= await latency(place, seconds)
            found.append(figures)
    return found


async def _place(database: str, bootstrap: str) -> Place:
    place = Place(database, bootstrap, stack.unique_prefix())
    await ensure(bootstrap, [Wanted(place.log_topic, PARTITIONS, {})], 1)
    return place
