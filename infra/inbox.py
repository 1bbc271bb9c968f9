"""The inbox and consumer progress: what a consumer has already made its own."""

from collections.abc import Iterable, Sequence

from infra.database import Connection
from infra.unit_of_work import Claim

Partition = tuple[str, int]


async def lock_progress(
    connection: Connection, consumer: str, partitions: Iterable[Partition]
) -> dict[Partition, int]:
    """Lock the progress rows of *partitions* (sorted) and return their next offsets."""
    wanted = sorted(partitions)
    cursor = await connection.execute(
        "select topic, partition, next_offset from consumer_progress c"
        " where consumer = %s and (topic, partition) in"
        " (select * from unnest(%s::text[], %s::int[])) order by topic, partition for update",
        (consumer, [topic for topic, _ in wanted], [number for _, number in wanted]),
    )
    return {(row[0], row[1]): row[2] async for row in cursor}


async def read_progress(
    connection: Connection, consumer: str, partitions: Iterable[Partition]
) -> dict[Partition, tuple[int, str | None]]:
    """Return next offset and last handled record's id of the rows that exist."""
    wanted = sorted(partitions)
    cursor = await connection.execute(
        "select topic, partition, next_offset, last_id from consumer_progress"
        " where consumer = %s and (topic, partition) in"
        " (select * from unnest(%s::text[], %s::int[]))",
        (consumer, [topic for topic, _ in wanted], [number for _, number in wanted]),
    )
    return {(row[0], row[1]): (row[2], row[3]) async for row in cursor}


async def start_progress(
    connection: Connection, consumer: str, offsets: dict[Partition, int]
) -> None:
    """Create the rows that do not exist yet, with the offset each starts at."""
    rows = sorted(offsets)
    await connection.execute(
        "insert into consumer_progress (consumer, topic, partition, next_offset)"
        " select %s, u.* from unnest(%s::text[], %s::int[], %s::bigint[])"
        " u(topic, partition, next_offset) on conflict do nothing",
        (
            consumer,
            [topic for topic, _ in rows],
            [number for _, number in rows],
            [offsets[row] for row in rows],
        ),
    )


async def seen_claims(
    connection: Connection, consumer: str, claims: Sequence[Claim]
) -> dict[tuple[str, str, str], bytes]:
    """Return (tenant, source, id) -> body digest of the claims that exist already."""
    cursor = await connection.execute(
        "select tenant, source, id, digest from inbox where consumer = %s and"
        " (tenant, source, id) in (select * from unnest(%s::text[], %s::text[], %s::text[]))",
        (
            consumer,
            [claim.tenant for claim in claims],
            [claim.source for claim in claims],
            [claim.id for claim in claims],
        ),
    )
    return {(row[0], row[1], row[2]): bytes(row[3]) async for row in cursor}
