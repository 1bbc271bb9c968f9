"""Parked records, for people and tools that look at them."""

from typing import Any

from psycopg.rows import dict_row

from infra.database import Connection, translated


async def list_letters(
    connection: Connection, *, consumer: str | None = None, limit: int = 1000
) -> list[dict[str, Any]]:
    """Return parked records, latest first; `id` names a letter, `event_id` its record."""
    cursor = connection.cursor(row_factory=dict_row)
    async with translated():
        await cursor.execute(
            "select consumer || ':' || topic || '/' || partition || '@' || \"offset\" as id,"
            " consumer, topic, partition, \"offset\", encode(key, 'escape') as key, reason,"
            " detail, attempts, first_seen, last_seen, coalesce(octet_length(value), 0) as bytes,"
            " tenant, source, id as event_id, state from dead_letters"
            " where %(consumer)s::text is null or consumer = %(consumer)s"
            ' order by last_seen desc, consumer, topic, partition, "offset" limit %(limit)s',
            {"consumer": consumer, "limit": limit},
        )
        return await cursor.fetchall()


async def reason_parked(connection: Connection, source: str, identity: str) -> str | None:
    """Return why the message (*source*, *identity*) was parked, None when it was not."""
    async with translated():
        cursor = await connection.execute(
            "select reason from dead_letters where source = %s and id = %s limit 1",
            (source, identity),
        )
        row = await cursor.fetchone()
    return None if row is None else str(row[0])
