"""The event log in the store: facts to append, and reading them back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from event_schemas.envelope import Envelope
from infra.database import Connection

COLUMNS = (
    "position, key, sequence, stream, streamversion, id, type, source, writer, time, tenant,"
    " runid, correlationid, causationid, traceparent, planversion, dataschema, data"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One event ready to be appended; *topics* are full topic names it goes out on."""

    id: str
    key: str
    stream: str
    streamversion: int
    type: str
    writer: str
    time: datetime
    tenant: str
    runid: str | None
    correlationid: str
    causationid: str | None
    traceparent: str | None
    planversion: int | None
    dataschema: str
    data: bytes
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One event as the store holds it."""

    position: int
    writer: str
    envelope: Envelope


async def load_streams(
    connection: Connection, after: Mapping[str, int]
) -> dict[str, list[Recorded]]:
    """Return for each stream its events above the given version, in order; one statement."""
    found: dict[str, list[Recorded]] = {stream: [] for stream in after}
    cursor = await connection.execute(
        f"select {COLUMNS} from unnest(%s::text[], %s::int[]) u(wanted, above)"
        " join events on stream = wanted and streamversion > above"
        " order by stream, streamversion",
        (list(after), list(after.values())),
    )
    async for row in cursor:
        event = recorded(row)
        found[event.envelope.subject or ""].append(event)
    return found


async def load_key(
    connection: Connection, key: str, above: int = 0, below: int | None = None
) -> list[Recorded]:
    """Return the events of *key* with a sequence above *above* (and below *below*), in order."""
    cursor = await connection.execute(
        f"select {COLUMNS} from events where key = %s and sequence > %s"
        " and (%s::bigint is null or sequence < %s) order by sequence",
        (key, above, below, below),
    )
    return [recorded(row) async for row in cursor]


async def ids_known(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Return which of *ids* (UUID texts) the store holds."""
    cursor = await connection.execute(
        "select id::text from events where id = any(%s::uuid[])", (list(ids),)
    )
    return {row[0] async for row in cursor}


def recorded(row: Sequence[Any]) -> Recorded:
    """Return the event of one row in the order of `COLUMNS`."""
    (position, key, sequence, stream, version, identity, kind, source, writer, at) = row[
        :10
    ]
    (tenant, run, correlation, cause, trace, plan, schema, data) = row[10:18]
    envelope = Envelope(
        id=str(identity) if isinstance(identity, UUID) else identity,
        source=source,
        type=kind,
        time=at,
        data=bytes(data),
        subject=stream,
        dataschema=schema,
        tenantid=tenant,
        runid=run,
        correlationid=correlation,
        causationid=cause,
        partitionkey=key,
        sequence=sequence,
        streamversion=version,
        planversion=plan,
        traceparent=trace,
    )
    return Recorded(position, writer, envelope)
