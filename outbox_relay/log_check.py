"""Before anything is published: the store must know the last record of its own log."""

import asyncio
from typing import Any
from uuid import UUID

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from infra.database import Connection, translated
from infra.errors import MustStop, Transient
from infra.event_log import ids_known
from infra.kafka.clients import abandon, consumer, start

# A stranger's records at the end of the log prove nothing; look a little further back.
LOOK_BACK = 50
READ_SECONDS = 30.0
OURS = b"/caseops/"


async def check_log(connection: Connection, bootstrap: str, log_topic: str) -> None:
    """Raise `MustStop` (`LOG_AHEAD`) when the log holds an event the store does not."""
    last = await _last_ids(bootstrap, log_topic)
    async with translated():
        known = await ids_known(connection, list(last.values()))
    for partition, identity in sorted(last.items()):
        if identity not in known:
            raise MustStop(
                "LOG_AHEAD",
                f"{log_topic}/{partition} ends with event {identity}, which the database does"
                " not hold: the database is older than the log, as after a restore",
                "Nothing is published until the database is brought up to its log"
                " (`caseops recover`), or a newer backup is restored.",
            )


async def _last_ids(bootstrap: str, log_topic: str) -> dict[int, str]:
    client = consumer(bootstrap=bootstrap, client_id="caseops-relay-check")
    await start(client)
    try:
        if log_topic not in await client.topics():
            return {}
        client.subscribe([log_topic])
        async with asyncio.timeout(READ_SECONDS):
            # Without a group every partition is assigned, once the metadata is there.
            while not client.assignment():
                await asyncio.sleep(0.01)
            found = {p.partition: await _last_id(client, p) for p in client.assignment()}
    except (KafkaError, TimeoutError) as error:
        raise Transient(f"{type(error).__name__}: {error}") from error
    finally:
        await abandon(client)
    return {number: identity for number, identity in found.items() if identity is not None}


async def _last_id(client: Any, partition: TopicPartition) -> str | None:  # noqa: ANN401
    end = (await client.end_offsets([partition]))[partition]
    begin = (await client.beginning_offsets([partition]))[partition]
    if end == begin:
        return None
    client.seek(partition, max(begin, end - LOOK_BACK))
    last: str | None = None
    while await client.position(partition) < end:
        for record in (await client.getmany(partition, timeout_ms=500)).get(partition, []):
            last = own_id(record.headers) or last
    return last


def own_id(headers: tuple[tuple[str, bytes | None], ...]) -> str | None:
    """Return the event id of a record that one of our services wrote, else None."""
    by_name = dict(headers)
    if not (by_name.get("ce_source") or b"").startswith(OURS):
        return None
    try:
        return str(UUID((by_name.get("ce_id") or b"").decode()))
    except ValueError:
        return None
