"""The tables of the case view: states by log key, rows written in one statement each."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from infra.database import Connection
from projections.projection import Row

_TYPES: Mapping[str, Mapping[str, str]] = {
    "run_view": {
        "run_id": "text",
        "case_id": "text",
        "tenant": "text",
        "kind": "text",
        "service": "text",
        "status": "text",
        "result_status": "text",
        "outcome": "text",
        "started_at": "timestamptz",
        "completed_at": "timestamptz",
        "deadline_at": "timestamptz",
        "sequence": "bigint",
        "log_partition": "int",
        "first_offset": "bigint",
        "document": "jsonb",
    },
    "case_view": {
        "case_id": "text",
        "run_id": "text",
        "tenant": "text",
        "environment": "text",
        "service_group": "text",
        "status": "text",
        "opened_at": "timestamptz",
        "document": "jsonb",
    },
}


def _upsert(table: str) -> str:
    columns = _TYPES[table]
    key, *others = columns
    typed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    return (
        f"insert into {table} ({', '.join(columns)})"
        f" select * from jsonb_to_recordset(%s::jsonb) as u({typed})"
        f" on conflict ({key}) do update set "
        + ", ".join(f"{name} = excluded.{name}" for name in others)
    )


_UPSERTS = {table: _upsert(table) for table in _TYPES}


async def load(connection: Connection, keys: Collection[str]) -> dict[str, Any]:
    """Return the folded states of *keys* that the view holds; one statement."""
    cursor = await connection.execute(
        "select u.key, coalesce(r.document, c.document) from unnest(%s::text[]) u(key)"
        " left join run_view r on r.run_id = u.key"
        " left join case_view c on c.run_id = u.key",
        (list(keys),),
    )
    return {row[0]: row[1] async for row in cursor if row[1] is not None}


async def save(connection: Connection, rows: Sequence[Row]) -> None:
    """Write *rows*: new ones are inserted, known ones replaced; one statement per table."""
    for table, statement in _UPSERTS.items():
        changed = [row.columns for row in rows if row.table == table]
        if changed:
            await connection.execute(statement, (json.dumps(changed),), prepare=True)
