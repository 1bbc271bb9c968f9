"""The inbox and consumer progress: what a consumer has already made its own."""

from collections.abc import Iterable, Sequence

from infra.database import Connection
from infra.unit_of_work import Claim

Partition = tuple[str, int]
CLAIMED = "claimed"
"""Reason under which claims are counted once their ids are forgotten."""


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
    """Create the rows that do not exist yet, with the offset each starts at.

    Records below that offset are counted as skips, reason `before_start`.
    """
    rows = sorted(offsets)
    await connection.execute(
        "with fresh as ("
        "  insert into consumer_progress (consumer, topic, partition, next_offset)"
        "  select %(consumer)s, u.* from unnest(%(topics)s::text[], %(numbers)s::int[],"
        "    %(offsets)s::bigint[]) u(topic, partition, next_offset)"
        "  on conflict do nothing returning topic, partition, next_offset)"
        " insert into skips (consumer, topic, partition, reason, count)"
        " select %(consumer)s, topic, partition, 'before_start', next_offset from fresh"
        " where next_offset > 0 on conflict do nothing",
        {
            "consumer": consumer,
            "topics": [topic for topic, _ in rows],
            "numbers": [number for _, number in rows],
            "offsets": [offsets[row] for row in rows],
        },
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


async def forget_old(connection: Connection, days: int) -> int:
    """Drop claims older than *days*, counted on under the reason `CLAIMED`; return how many.

    By offset a record stays handled for ever; only its id is forgotten.
    """
    cursor = await connection.execute(
        "with gone as (delete from inbox"
        "  where seen_at < clock_timestamp() - make_interval(days => %s)"
        "  returning consumer, topic, partition),"
        " kept as (insert into skips as s (consumer, topic, partition, reason, count)"
        "  select consumer, topic, partition, %s, count(*) from gone group by 1, 2, 3"
        "  on conflict (consumer, topic, partition, reason)"
        "  do update set count = s.count + excluded.count)"
        " select count(*) from gone",
        (days, CLAIMED),
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])
