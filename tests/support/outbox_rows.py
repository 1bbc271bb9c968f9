"""Rows in the outbox as the services write them, and records read back from Kafka."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from aiokafka import ConsumerRecord, TopicPartition

from event_schemas.ids import event_id
from infra.kafka.clients import consumer
from infra.kafka.topics import Wanted, ensure
from infra.unit_of_work import header_json
from outbox_relay.app import Place, run
from outbox_relay.health import RelayHealth

PARTITIONS = 3

_EVENTS = """
insert into caseops.events (key, sequence, stream, streamversion, id, type, source, writer,
    time, tenant, runid, correlationid, causationid, traceparent, planversion, dataschema, data)
select u.key, u.sequence, 'run/' || u.key, u.sequence, u.id::uuid,
       'dev.caseops.run.status_changed.v1', '/caseops/supervisor', 'supervisor',
       '2026-11-30T08:00:00.000120Z', 'acme', u.key, u.key, null, null, null,
       'urn:caseops:schema:x', convert_to(u.data, 'UTF8')
  from unnest(%s::text[], %s::bigint[], %s::text[], %s::text[]) u(key, sequence, id, data)
returning position
"""
_LOG_ROW = """
insert into caseops.outbox (kind, order_key, message_key, topic, event_position)
select 'log', convert_to(key, 'UTF8'), convert_to(key, 'UTF8'), %s, position
  from caseops.events where position = any(%s) order by position
"""
_OTHER_ROW = """
insert into caseops.outbox (kind, order_key, message_key, topic, headers, value)
values (%s, %s, %s, %s, %s::jsonb, %s) returning position
"""


class Facts:
    """Appends numbered facts per key, and remembers how many each key has."""

    def __init__(self, url: str, prefix: str) -> None:
        self.url = url
        self.topic = f"{prefix}.events"
        self.last: dict[str, int] = {}

    def append(self, connection: psycopg.Connection[Any], *keys: str) -> list[int]:
        """Append one fact to each of *keys*, in order, with its outbox row; not committed."""
        sequences = []
        for key in keys:
            self.last[key] = self.last.get(key, 0) + 1
            sequences.append(self.last[key])
        ids = [event_id(f"run/{k}", s) for k, s in zip(keys, sequences, strict=True)]
        data = [json.dumps({"n": sequence}) for sequence in sequences]
        rows = connection.execute(_EVENTS, (list(keys), sequences, ids, data)).fetchall()
        positions = [row[0] for row in rows]
        connection.execute(_LOG_ROW, (self.topic, positions))
        return positions

    def commit(self, *keys: str) -> None:
        """Append one fact to each of *keys* in one transaction, and wake the relay."""
        with connected(self.url) as connection:
            with connection.transaction():
                self.append(connection, *keys)
            connection.execute("notify caseops_outbox")


def connected(url: str) -> psycopg.Connection[Any]:
    """Return an autocommit connection of the owner."""
    return psycopg.connect(url, autocommit=True)


def put(
    url: str, topic: str, value: bytes, *, key: str = "k", kind: str = "command"
) -> int:
    """Put one record that is not of the log into the outbox; return its position."""
    headers = header_json([("ce_type", b"x"), ("ce_null", None)])
    with connected(url) as connection:
        row = connection.execute(
            _OTHER_ROW, (kind, key.encode(), key.encode(), topic, headers, value)
        ).fetchone()
        connection.execute("notify caseops_outbox")
    assert row is not None
    return int(row[0])


def outbox(url: str) -> list[dict[str, Any]]:
    """Return what is in the outbox, by position."""
    with connected(url) as connection:
        cursor = connection.execute(
            "select position, kind, topic, attempts, error, parked_at is not null as parked"
            " from caseops.outbox order by position"
        )
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@asynccontextmanager
async def relay(place: Place) -> AsyncIterator[RelayHealth]:
    """Run a relay in this process for as long as the block runs."""
    stop, health = asyncio.Event(), RelayHealth()
    task = asyncio.create_task(run(place, stop, health))
    try:
        yield health
    finally:
        stop.set()
        await task


async def create_topics(
    bootstrap: str, topics: Mapping[str, Mapping[str, str]], *, replication: int = 1
) -> None:
    """Create *topics* (full name -> configs)."""
    wanted = [Wanted(name, PARTITIONS, dict(configs)) for name, configs in topics.items()]
    await ensure(bootstrap, wanted, replication)


async def records(bootstrap: str, topic: str) -> list[ConsumerRecord]:
    """Return every record of *topic*, each partition in order."""
    reader = consumer(bootstrap=bootstrap, client_id="test-reader")
    await reader.start()
    try:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        reader.assign(partitions)
        ends = await reader.end_offsets(partitions)
        found: list[ConsumerRecord] = []
        for partition in partitions:
            while await reader.position(partition) < ends[partition]:
                batch = await reader.getmany(partition, timeout_ms=500)
                found.extend(batch.get(partition, []))
        return found
    finally:
        await reader.stop()


def numbers_by_key(found: list[ConsumerRecord]) -> dict[str, list[int]]:
    """Return for each key the numbers of its facts in log order, duplicates included."""
    by_key: dict[str, list[int]] = {}
    for record in found:
        by_key.setdefault(record.key.decode(), []).append(json.loads(record.value)["n"])
    return by_key


def first_seen(numbers: list[int]) -> list[int]:
    """Return *numbers* without repeats, as a consumer that drops known ids sees them."""
    return list(dict.fromkeys(numbers))
