"""Bring a broker and a database to what this release needs: schema, topics, positions."""

import asyncio

from caseops.groups import READERS
from event_schemas.topics import all_topics, full_name
from infra import database, migrate
from infra.inbox import start_progress
from infra.kafka.topics import Wanted, ensure


async def apply(
    bootstrap: str, url: str, prefix: str, *, replication: int, partitions: int | None
) -> list[str]:
    """Migrate the database and create missing topics; return the topics created.

    A new topic starts every consumer that reads it at offset 0. Safe to run again.
    """
    await asyncio.to_thread(migrate.upgrade, url)
    wanted = [
        Wanted(full_name(prefix, t.name), partitions or t.partitions, t.configs())
        for t in all_topics()
    ]
    created = await ensure(bootstrap, wanted, replication)
    connection = await database.connect(url)
    try:
        for topic in created:
            short = topic.name.removeprefix(f"{prefix}.")
            offsets = {(topic.name, number): 0 for number in range(topic.partitions)}
            for consumer in READERS.get(short, ()):
                await start_progress(connection, consumer, offsets)
    finally:
        await connection.close()
    return [topic.name for topic in created]
