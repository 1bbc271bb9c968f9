"""The outbox: what is still to publish, row by row; read by the relay and by operators."""

import json
from base64 import b64decode
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import structlog
from psycopg.rows import dict_row
from psycopg.types.string import ByteaBinaryLoader

from event_schemas.envelope import SEQUENCE_DIGITS
from infra.database import Connection, translated
from infra.errors import WrongInput
from infra.wakeup import OUTBOX_CHANNEL

RESCAN = "rescan"
MAX_BYTES = 8 * 1024 * 1024
Headers = list[tuple[str, bytes | None]]
Lane = tuple[bytes, str]

_log = structlog.get_logger()
_ATTRIBUTES = (
    "ce_subject",
    "ce_dataschema",
    "ce_tenantid",
    "ce_runid",
    "ce_correlationid",
    "ce_causationid",
    "ce_partitionkey",
)


class OutboxRow(NamedTuple):
    """One record to publish; rows of a lane (order key, topic) go out in position order."""

    position: int
    kind: str
    topic: str
    order_key: bytes
    key: bytes | None
    value: bytes | None
    attributes: tuple[Any, ...]

    @property
    def lane(self) -> Lane:
        """The order key and topic within which nothing may overtake this row."""
        return self.order_key, self.topic

    def headers(self) -> Headers:
        """Return the Kafka headers; raise ValueError or TypeError when they are unreadable."""
        if self.kind == "log":
            return log_headers(self.attributes)
        return [
            (f"{name}", None if raw is None else b64decode(raw, validate=True))
            for name, raw in json.loads(self.attributes[0])
        ]


@dataclass(slots=True)
class Window:
    """What one look at the outbox takes: own *slices*, above *floor*, not *held*, bounded."""

    slices: Collection[int] = ()
    floor: int = 0
    limit: int = 1000
    held: Collection[Lane] = ()
    waiting: Collection[str] = ()
    max_bytes: int = MAX_BYTES

    def is_filled_by(self, rows: Sequence[OutboxRow]) -> bool:
        """Say whether *rows* were cut off by a limit, so that more may be waiting."""
        size = sum(len(row.value) for row in rows if row.value is not None)
        return len(rows) >= self.limit or size >= self.max_bytes


# Rows of the log take their bytes from events. Two limits: rows, then bytes (never none).
_SELECT = """
select position, kind::varchar, topic::varchar, order_key, message_key, value, headers,
       id, source, type, at, stream, dataschema, tenant, runid, correlationid, causationid,
       key, sequence, streamversion, planversion, traceparent
  from (
    select o.position, o.kind, o.topic, o.order_key, o.message_key,
           case when o.kind = 'log' then e.data else o.value end as value,
           o.headers, e.*,
           sum(coalesce(octet_length(o.value), 0) + coalesce(octet_length(e.data), 0))
               over (order by o.position rows unbounded preceding)
           - coalesce(octet_length(o.value), 0) - coalesce(octet_length(e.data), 0) as before
      from (
        select position, kind, topic, order_key, message_key, value, headers::text as headers,
               event_position
          from outbox
         where position > %s and slice = any((select %s::smallint[])::smallint[])
           and parked_at is null
           and topic <> all(%s::text[])
           and (order_key, topic) not in (select * from unnest(%s::bytea[], %s::text[]))
         order by position limit %s) o
      left join lateral (
        select id::text as id, source, type, time as at, stream, dataschema, tenant, runid,
               correlationid, causationid, key, sequence, streamversion, planversion,
               traceparent, data
          from events where position = o.event_position limit 1) e on true) rows
 where before < %s order by position
"""


class Outbox:
    """The relay's side of the table, on the one connection that also holds its slices."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._reader = connection.cursor(binary=True)
        # Header values go out as the bytes they are: no text is decoded to be encoded again.
        self._reader.adapters.register_loader("text", ByteaBinaryLoader)

    async def prepare(self) -> None:
        """Set the connection up; a delete that is lost in a crash only sends again."""
        async with translated():
            await self.connection.execute("set synchronous_commit = off")
            # A plan made for a near empty table must hold under load: walk the index in order.
            for method in ("seqscan", "bitmapscan", "sort"):
                await self.connection.execute(f"set enable_{method} = off")
            await self.connection.execute("set plan_cache_mode = force_generic_plan")
            await self.connection.execute("set jit = off")
            # The locks of a host that vanished are free after some ten seconds.
            for name, value in (("idle", 5), ("interval", 2), ("count", 3)):
                await self.connection.execute(f"set tcp_keepalives_{name} = {value}")

    async def select(self, window: Window) -> list[OutboxRow]:
        """Return the next rows to publish, in position order."""
        held = list(window.held)
        parameters = (
            window.floor,
            array_text(window.slices),
            list(window.waiting),
            [order_key for order_key, _ in held],
            [topic for _, topic in held],
            window.limit,
            window.max_bytes,
        )
        async with translated():
            await self._reader.execute(_SELECT, parameters, prepare=True)
            return [
                OutboxRow._make((*row[:6], row[6:]))
                for row in await self._reader.fetchall()
            ]

    async def delete(self, positions: Iterable[int]) -> None:
        """Remove rows that are published."""
        async with translated():
            await self.connection.execute(
                "delete from outbox where position = any(%s::bigint[])",
                (array_text(positions),),
                prepare=True,
            )

    async def park(self, positions: Iterable[int], error: str) -> None:
        """Set refused rows aside; later rows of their lanes wait behind them."""
        async with translated():
            await self.connection.execute(
                "update outbox set parked_at = clock_timestamp(), attempts = attempts + 1,"
                " error = %s where position = any(%s::bigint[])",
                (error[:2000], array_text(positions)),
            )

    async def held(self, slices: Collection[int]) -> set[Lane]:
        """Return the lanes of *slices* that wait behind a parked row."""
        async with translated():
            cursor = await self.connection.execute(
                "select distinct order_key, topic from outbox"
                " where parked_at is not null and slice = any(%s::smallint[])",
                (array_text(slices),),
            )
            return {(bytes(row[0]), row[1]) async for row in cursor}

    async def backlog(self) -> tuple[int, float, int]:
        """Return rows not yet published (counted up to 100,000), oldest age, parked rows."""
        async with translated():
            cursor = await self.connection.execute(
                "select count(*), coalesce(extract(epoch from clock_timestamp()"
                " - min(created_at)), 0)::float, count(parked_at) from"
                " (select created_at, parked_at from outbox order by position limit 100000) o"
            )
            row = await cursor.fetchone()
        return (row[0], max(0.0, row[1]), row[2]) if row else (0, 0.0, 0)


def array_text(numbers: Iterable[int]) -> str:
    """Return *numbers* as a PostgreSQL array literal: far cheaper to bind than a list."""
    return "{" + ",".join(map(str, numbers)) + "}"


def log_headers(attributes: Sequence[Any]) -> Headers:
    """Return the headers of a log row, byte for byte those of `codec.encode_headers`."""
    (_, identity, source, kind, at) = attributes[:5]
    sequence, version, plan, trace = attributes[12:16]
    headers: Headers = [
        ("ce_specversion", b"1.0"),
        ("ce_id", identity),
        ("ce_source", source),
        ("ce_type", kind),
        ("content-type", b"application/json"),
        ("ce_time", _wire_time(at)),
    ]
    for name, value in zip(_ATTRIBUTES, attributes[5:12], strict=True):
        if value is not None:
            headers.append((name, value))
    headers.append(("ce_sequence", b"%0*d" % (SEQUENCE_DIGITS, sequence)))
    headers.append(("ce_streamversion", b"%d" % version))
    if plan is not None:
        headers.append(("ce_planversion", b"%d" % plan))
    if trace is not None:
        headers.append(("ce_traceparent", trace))
    return headers


def _wire_time(at: datetime) -> bytes:
    return at.isoformat(timespec="microseconds")[:26].encode() + b"Z"


async def list_rows(connection: Connection, limit: int = 1000) -> list[dict[str, Any]]:
    """Return the oldest rows not yet published, for people: parked ones show their error."""
    cursor = connection.cursor(row_factory=dict_row)
    async with translated():
        await cursor.execute(
            "select o.position, o.kind, o.topic, encode(o.order_key, 'escape') as key,"
            " o.attempts, o.parked_at, o.error,"
            " extract(epoch from clock_timestamp() - o.created_at)::float as age_seconds,"
            " coalesce(octet_length(o.value), octet_length(e.data), 0) as bytes"
            " from outbox o left join events e on e.position = o.event_position"
            " order by o.parked_at is null, o.position limit %s",
            (limit,),
        )
        return await cursor.fetchall()


async def retry(connection: Connection, position: int, who: str) -> bool:
    """Let the relay try a parked row again; say whether there was one at *position*."""
    async with translated():
        cursor = await connection.execute(
            "update outbox set parked_at = null, error = null"
            " where position = %s and parked_at is not null",
            (position,),
        )
        await _rescan(connection)
    _audit("outbox_row_retried", position=position, who=who, done=cursor.rowcount == 1)
    return cursor.rowcount == 1


async def skip(connection: Connection, position: int, who: str) -> bool:
    """Drop a parked row, audited; say whether there was one at *position*.

    A row of the log raises `WrongInput`: a log with a hole would hold its run up for ever.
    """
    async with translated():
        cursor = await connection.execute(
            "with parked as (select kind from outbox"
            " where position = %(position)s and parked_at is not null), gone as"
            " (delete from outbox where position = %(position)s and parked_at is not null"
            " and kind <> 'log') select kind from parked",
            {"position": position},
        )
        row = await cursor.fetchone()
        await _rescan(connection)
    done = row is not None and row[0] != "log"
    _audit("outbox_row_skipped", position=position, who=who, done=done)
    if row is not None and not done:
        raise WrongInput(
            "OUTBOX_LOG_ROW",
            f"row {position} belongs to the event log and is never skipped",
            f"Remove the cause of its error, then `caseops outbox retry {position}`.",
        )
    return done


async def _rescan(connection: Connection) -> None:
    await connection.execute(f"notify {OUTBOX_CHANNEL}, '{RESCAN}'")


def _audit(action: str, *, position: int, who: str, done: bool) -> None:
    _log.info(action, audit=True, position=position, who=who, done=done)
