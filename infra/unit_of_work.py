"""One batch of a consumer, written as one statement: all of it, or nothing.

Order of locks: progress rows, inbox claims (by id), key sequences (by key). Any mismatch
(progress moved, claim taken, stream version taken) aborts the whole statement and surfaces
as `ConcurrentWrite`; the caller reloads and decides again.
"""

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from infra.arrays import byteas, numbers, texts, times
from infra.database import Connection, translated
from infra.event_log import Fact


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one partition is handled: from *expected* to *next_offset*."""

    topic: str
    partition: int
    expected: int
    next_offset: int
    last_id: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """One message this consumer takes as its own, by identity and body digest."""

    tenant: str
    source: str
    id: str
    digest: bytes
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One record to publish that is not a row of the log; *topic* is the full name."""

    kind: Literal["command", "dead_letter", "artifact"]
    order_key: bytes
    topic: str
    message_key: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    value: bytes | None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record this consumer cannot handle, with its original bytes."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    value: bytes | None
    tenant: str
    source: str
    id: str
    reason: str
    detail: str


@dataclass(slots=True)
class Batch:
    """Everything one batch changes; *guards*: streams it only read, at their versions."""

    consumer: str
    progress: list[Progress] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    outgoing: list[Outgoing] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    skips: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    guards: dict[str, int] = field(default_factory=dict)

    @property
    def publishes(self) -> bool:
        """Say whether the relay has something to do after this batch."""
        return bool(self.facts or self.outgoing)


def header_json(headers: Sequence[tuple[str, bytes | None]]) -> str:
    """Return *headers* as JSON `[[name, base64 or null], …]`: any bytes of a value survive.

    A NUL in a name becomes U+FFFD, since PostgreSQL has no text that holds one.
    """
    return json.dumps(
        [
            [
                name.replace("\x00", "\ufffd"),
                None if raw is None else b64encode(raw).decode(),
            ]
            for name, raw in headers
        ]
    )


_WRITE = """
with p as materialized (
  update consumer_progress c
     set next_offset = u.next, last_id = coalesce(u.last_id, c.last_id), updated_at = now()
    from unnest(%(p_topic)s::text[], %(p_partition)s::int[], %(p_expected)s::bigint[],
                %(p_next)s::bigint[], %(p_last)s::text[])
         u(topic, partition, expected, next, last_id)
   where c.consumer = %(consumer)s and c.topic = u.topic and c.partition = u.partition
     and c.next_offset = u.expected
  returning 1),
v as materialized (
  select 1 from unnest(%(v_stream)s::text[], %(v_version)s::int[]) u(stream, version)
    join events x on x.stream = u.stream and x.streamversion = u.version + 1),
g as materialized (
  select (select count(*) from p) = %(p_count)s and not exists (select from v) as ok),
i as (
  insert into inbox (consumer, tenant, source, id, digest, topic, partition, "offset")
  select %(consumer)s, u.* from unnest(%(i_tenant)s::text[], %(i_source)s::text[],
      %(i_id)s::text[], %(i_digest)s::bytea[], %(i_topic)s::text[], %(i_partition)s::int[],
      %(i_offset)s::bigint[]) u(tenant, source, id, digest, topic, partition, "offset")
   where (select ok from g) order by u.tenant, u.source, u.id
  returning 1),
c as materialized (
  insert into key_sequences as s (key, last)
  select u.key, u.more from unnest(%(k_key)s::text[], %(k_more)s::bigint[]) u(key, more)
   where (select ok from g) and (select count(*) from i) >= 0 order by u.key
  on conflict (key) do update set last = s.last + excluded.last
  returning key, last),
e as materialized (
  insert into events (key, sequence, stream, streamversion, id, type, source, writer, time,
      tenant, runid, correlationid, causationid, traceparent, planversion, dataschema, data)
  select u.key, c.last - u.back, u.stream, u.version, u.id, u.type, '/caseops/' || u.writer,
         u.writer, u.time, u.tenant, u.run, u.correlation, u.cause, u.trace, u.plan, u.schema,
         u.data
    from unnest(%(e_key)s::text[], %(e_back)s::bigint[], %(e_stream)s::text[],
      %(e_version)s::int[], %(e_id)s::uuid[], %(e_type)s::text[], %(e_writer)s::text[],
      %(e_time)s::timestamptz[], %(e_tenant)s::text[], %(e_run)s::text[],
      %(e_correlation)s::text[], %(e_cause)s::text[], %(e_trace)s::text[], %(e_plan)s::int[],
      %(e_schema)s::text[], %(e_data)s::bytea[])
      with ordinality u(key, back, stream, version, id, type, writer, time, tenant, run,
                        correlation, cause, trace, plan, schema, data, ord)
    join c using (key) order by u.ord
  returning position, id, key),
o as (
  insert into outbox (kind, order_key, message_key, topic, event_position, headers, value)
  select kind, order_key, message_key, topic, event_position, headers, value from (
    select 'log' as kind, convert_to(e.key, 'UTF8') as order_key,
           convert_to(e.key, 'UTF8') as message_key, u.topic, e.position as event_position,
           null::jsonb as headers, null::bytea as value, 0 as part, u.ord
      from unnest(%(l_id)s::uuid[], %(l_topic)s::text[]) with ordinality u(id, topic, ord)
      join e using (id)
    union all
    select u.kind, u.order_key, u.message_key, u.topic, null, u.headers, u.value, 1, u.ord
      from unnest(%(o_kind)s::text[], %(o_order)s::bytea[], %(o_key)s::bytea[],
                  %(o_topic)s::text[], %(o_headers)s::jsonb[], %(o_value)s::bytea[])
           with ordinality u(kind, order_key, message_key, topic, headers, value, ord)
     where (select ok from g)) rows order by part, ord),
s as (
  insert into skips as k (consumer, topic, partition, reason, count)
  select %(consumer)s, u.* from unnest(%(s_topic)s::text[], %(s_partition)s::int[],
      %(s_reason)s::text[], %(s_count)s::bigint[]) u(topic, partition, reason, count)
   where (select ok from g)
  on conflict (consumer, topic, partition, reason)
  do update set count = k.count + excluded.count),
d as (
  insert into dead_letters as x (consumer, topic, partition, "offset", key, headers, value,
      tenant, source, id, reason, detail)
  select %(consumer)s, u.* from unnest(%(d_topic)s::text[], %(d_partition)s::int[],
      %(d_offset)s::bigint[], %(d_key)s::bytea[], %(d_headers)s::jsonb[], %(d_value)s::bytea[],
      %(d_tenant)s::text[], %(d_source)s::text[], %(d_id)s::text[], %(d_reason)s::text[],
      %(d_detail)s::text[]) u(topic, partition, "offset", key, headers, value, tenant, source,
                              id, reason, detail)
   where (select ok from g)
  on conflict (consumer, topic, partition, "offset")
  do update set attempts = x.attempts + 1, last_seen = clock_timestamp(),
                reason = excluded.reason, detail = excluded.detail)
select 1 / (case when ok then 1 else 0 end) from g
"""


async def write(connection: Connection, batch: Batch) -> None:
    """Write *batch* in one statement; raise one of the four edge errors and write nothing.

    Idempotent through its guards: a batch that was committed before raises `ConcurrentWrite`.
    """
    async with translated():
        await connection.execute(_WRITE, _parameters(batch), prepare=True)


def _parameters(batch: Batch) -> dict[str, str | int]:
    return {
        "consumer": batch.consumer,
        "p_count": len(batch.progress),
        "v_stream": texts(batch.guards),
        "v_version": numbers(batch.guards.values()),
        **_progress_columns(batch.progress),
        **_claim_columns(batch.claims),
        **_fact_columns(batch.facts),
        **_outgoing_columns(batch.outgoing),
        **_skip_columns(batch.skips),
        **_dead_letter_columns(batch.dead_letters),
    }


def _progress_columns(rows: Sequence[Progress]) -> dict[str, str]:
    return {
        "p_topic": texts(row.topic for row in rows),
        "p_partition": numbers(row.partition for row in rows),
        "p_expected": numbers(row.expected for row in rows),
        "p_next": numbers(row.next_offset for row in rows),
        "p_last": texts(row.last_id for row in rows),
    }


def _claim_columns(rows: Sequence[Claim]) -> dict[str, str]:
    return {
        "i_tenant": texts(row.tenant for row in rows),
        "i_source": texts(row.source for row in rows),
        "i_id": texts(row.id for row in rows),
        "i_digest": byteas(row.digest for row in rows),
        "i_topic": texts(row.topic for row in rows),
        "i_partition": numbers(row.partition for row in rows),
        "i_offset": numbers(row.offset for row in rows),
    }


def _fact_columns(facts: Sequence[Fact]) -> dict[str, str]:
    left = Counter(fact.key for fact in facts)
    keys, more = list(left), list(left.values())
    backs = []
    for fact in facts:
        left[fact.key] -= 1
        backs.append(left[fact.key])
    out = [(fact.id, topic) for fact in facts for topic in fact.topics]
    return {
        "k_key": texts(keys),
        "k_more": numbers(more),
        "e_back": numbers(backs),
        "e_key": texts(fact.key for fact in facts),
        "e_stream": texts(fact.stream for fact in facts),
        "e_version": numbers(fact.streamversion for fact in facts),
        "e_id": texts(fact.id for fact in facts),
        "e_type": texts(fact.type for fact in facts),
        "e_writer": texts(fact.writer for fact in facts),
        "e_time": times(fact.time for fact in facts),
        "e_tenant": texts(fact.tenant for fact in facts),
        "e_run": texts(fact.runid for fact in facts),
        "e_correlation": texts(fact.correlationid for fact in facts),
        "e_cause": texts(fact.causationid for fact in facts),
        "e_trace": texts(fact.traceparent for fact in facts),
        "e_plan": numbers(fact.planversion for fact in facts),
        "e_schema": texts(fact.dataschema for fact in facts),
        "e_data": byteas(fact.data for fact in facts),
        "l_id": texts(row[0] for row in out),
        "l_topic": texts(row[1] for row in out),
    }


def _outgoing_columns(rows: Sequence[Outgoing]) -> dict[str, str]:
    return {
        "o_kind": texts(row.kind for row in rows),
        "o_order": byteas(row.order_key for row in rows),
        "o_key": byteas(row.message_key for row in rows),
        "o_topic": texts(row.topic for row in rows),
        "o_value": byteas(row.value for row in rows),
        "o_headers": texts(header_json(row.headers) for row in rows),
    }


def _skip_columns(skips: Counter[tuple[str, int, str]]) -> dict[str, str]:
    rows = sorted(skips)
    return {
        "s_topic": texts(row[0] for row in rows),
        "s_partition": numbers(row[1] for row in rows),
        "s_reason": texts(row[2] for row in rows),
        "s_count": numbers(skips[row] for row in rows),
    }


def _dead_letter_columns(rows: Sequence[DeadLetter]) -> dict[str, str]:
    return {
        "d_topic": texts(row.topic for row in rows),
        "d_partition": numbers(row.partition for row in rows),
        "d_offset": numbers(row.offset for row in rows),
        "d_key": byteas(row.key for row in rows),
        "d_value": byteas(row.value for row in rows),
        "d_tenant": texts(row.tenant for row in rows),
        "d_source": texts(row.source for row in rows),
        "d_id": texts(row.id for row in rows),
        "d_reason": texts(row.reason for row in rows),
        "d_detail": texts(row.detail for row in rows),
        "d_headers": texts(header_json(row.headers) for row in rows),
    }
