"""Before anything is published: the store must know the last record of its own log."""

import asyncio
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class LogTopic:
    """The topic that carries the event log, as the cluster has it."""

    name: str
    partitions: int


async def check_log(connection: Connection, bootstrap: str, log: LogTopic) -> None:
    """Raise `MustStop` (`LOG_AHEAD`) when the log holds an event the store does not."""
    last = await _last_ids(bootstrap, log)
    async with translated():
        known = await ids_known(connection, list(last.values()))
    for partition, identity in sorted(last.items()):
        if identity not in known:
            raise MustStop(
                "LOG_AHEAD",
                f"{log.name}/{partition} ends with event {identity}, which the database does"
                " not hold: the database is older than the log, as after a restore",
                "Nothing is published until the database is brought up to its log"
                " (`caseops recover`), or a newer backup is restored.",
            )


async def _last_ids(bootstrap: str, log: LogTopic) -> dict[int, str]:
    client = consumer(bootstrap=bootstrap, client_id="caseops-relay-check")
    await start(client)
    partitions = [TopicPartition(log.name, number) for number in range(log.partitions)]
    try:
        async with asyncio.timeout(READ_SECONDS):
            # Asked before anything is assigned: a waiting fetch would hold the answers up.
            begins = await client.beginning_offsets(partitions)
            ends = await client.end_offsets(partitions)
            windows = {
                p: (max(begins[p], ends[p] - LOOK_BACK), ends[p])
                for p in partitions
                if ends[p] > begins[p]
            }
            return await _read(client, windows)
    except (KafkaError, TimeoutError) as error:
        raise Transient(f"{type(error).__name__}: {error}") from error
    finally:
        await abandon(client)


async def _read(
    client: Any,  # noqa: ANN401 - aiokafka has no types
    windows: dict[TopicPartition, tuple[int, int]],
) -> dict[int, str]:
    last: dict[int, str] = {}
    client.assign(list(windows))
    for partition, (begin, _) in windows.items():
        # The client's own first reset must be over, or it may undo the seek.
        await client.position(partition)
        client.seek(partition, begin)
    for partition, (_, end) in windows.items():
        while await client.position(partition) < end:
            found = await client.getmany(partition, timeout_ms=500)
            ids = [own_id(record.headers) for record in found.get(partition, ())]
            for identity in filter(None, ids):
                last[partition.partition] = identity
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
