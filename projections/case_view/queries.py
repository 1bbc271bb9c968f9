"""Questions to the case view, asked with the role that can only read."""

from collections.abc import Mapping
from typing import Any

from psycopg.rows import dict_row

from event_schemas.codec import structured
from infra.database import Connection
from infra.event_log import COLUMNS, load_key, recorded
from projections.case_view.overview import overview

Document = dict[str, Any]
_HIDDEN = ("place", "completion_id")


async def runs(
    connection: Connection, *, tenant: str | None = None, limit: int = 100
) -> list[Document]:
    """Return the runs, latest first, each as one flat row."""
    cursor = connection.cursor(row_factory=dict_row)
    await cursor.execute(
        "select run_id, case_id, tenant, kind, service, status, result_status, outcome,"
        " started_at, completed_at, deadline_at, (document->>'signals')::int as signals,"
        " document->'stage'->>'name' as stage from run_view"
        " where %(tenant)s::text is null or tenant = %(tenant)s"
        " order by started_at desc, run_id limit %(limit)s",
        {"tenant": tenant, "limit": limit},
    )
    return await cursor.fetchall()


async def full_id(connection: Connection, run: str) -> str | None:
    """Return the run id that *run* is, or is the only beginning of; None when there is none."""
    cursor = await connection.execute(
        "select run_id from run_view where run_id = %s"
        " union all (select run_id from run_view where starts_with(run_id, %s) limit 2)",
        (run, run if len(run) >= 4 else "-"),  # noqa: PLR2004 - shorter ones say too little
    )
    found = {row[0] async for row in cursor}
    if run in found:
        return run
    return found.pop() if len(found) == 1 else None


async def show(connection: Connection, run_id: str) -> Document | None:
    """Return the whole document of a run, its completion event included."""
    cursor = await connection.execute(
        "select document from run_view where run_id = %s", (run_id,)
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    document = row[0]
    completion = await _event(connection, document["completion_id"])
    shown = {name: part for name, part in document.items() if name not in _HIDDEN}
    return {**shown, "completion": completion, "task": overview(document)}


async def events(connection: Connection, run_id: str) -> list[Document]:
    """Return the events of a run in their order, as structured CloudEvents."""
    cursor = await connection.execute(
        "select document->'place'->>'key' from run_view where run_id = %s", (run_id,)
    )
    row = await cursor.fetchone()
    found = await load_key(connection, row[0] if row else run_id)
    return [structured(each.envelope) for each in found]


async def run_of_signal(connection: Connection, signal: Mapping[str, Any]) -> str | None:
    """Return the run of the case that a signal (tenant, fingerprint, starts_at) belongs to."""
    cursor = await connection.execute(
        "select run_id from case_signals where tenant = %(tenant)s"
        " and fingerprint = %(fingerprint)s and starts_at = %(starts_at)s",
        signal,
    )
    row = await cursor.fetchone()
    return None if row is None else row[0]


async def ended(connection: Connection, run_id: str) -> bool:
    """Say whether the view has seen the completion of a run."""
    cursor = await connection.execute(
        "select completed_at is not null from run_view where run_id = %s", (run_id,)
    )
    row = await cursor.fetchone()
    return bool(row and row[0])


async def held_keys(connection: Connection) -> list[Document]:
    """Return the log keys that a view holds back, with the reason."""
    cursor = connection.cursor(row_factory=dict_row)
    await cursor.execute(
        "select view, key, sequence, held from view_progress where held is not null"
        " order by view, key limit 1000"
    )
    return await cursor.fetchall()


async def _event(connection: Connection, identity: str | None) -> Document | None:
    if identity is None:
        return None
    cursor = await connection.execute(
        f"select {COLUMNS} from events where id = %s", (identity,)
    )
    row = await cursor.fetchone()
    return None if row is None else structured(recorded(row).envelope)
