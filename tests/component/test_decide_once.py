"""The consume loop on a real database: claims, progress, parking, conflicts."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

import pytest

from infra.errors import NotPermitted
from infra.event_log import Fact
from infra.unit_of_work import Batch, write
from tests.support.records import RawRecord, alert_headers, alert_record
from tests.support.store import edges_to, intake_over, log_of, rows


async def test_records_become_facts_letters_and_counted_skips(database: str) -> None:
    """Every record of a batch ends as an effect, a dead letter or a counted skip."""
    records = [
        alert_record(0),
        alert_record(1, identity="event-0", number=0),
        RawRecord("caseops.alerts", 0, 2, None, None),
        RawRecord(
            "caseops.alerts",
            0,
            3,
            b"k",
            b"{}",
            [("ce_type", b"dev.caseops.join.closed.v1")],
        ),
        alert_record(4, tenant="other"),
    ]
    async with intake_over(database) as intake:
        await intake.handle(records)

    letters = await rows(database, 'select "offset", reason from dead_letters order by 1')
    skipped = await rows(database, "select reason, count from skips order by 1")
    assert [(2, "TOMBSTONE"), (4, "TENANT_MISMATCH")] == letters
    assert [("duplicate", 1), ("other_type", 1)] == skipped
    assert [(5,)] == await rows(database, "select next_offset from consumer_progress")


async def test_the_same_records_again_do_nothing(database: str) -> None:
    """A rewound group, and a new process, do nothing twice (SHAPE-03)."""
    records = [alert_record(0), alert_record(1)]
    async with intake_over(database) as intake:
        await intake.handle(records)
        before = await log_of(database)
        await intake.handle(records)
    async with intake_over(database) as restarted:
        await restarted.handle(records)

    assert before == await log_of(database)


async def test_a_reused_id_with_another_body_is_parked(database: str) -> None:
    """The second body under one id is refused aloud, in the batch and in a later one."""
    async with intake_over(database) as intake:
        await intake.handle([alert_record(0), alert_record(1, 7, identity="event-0")])
        await intake.handle([alert_record(2, 8, identity="event-0")])

    reasons = await rows(database, 'select "offset", reason from dead_letters order by 1')
    assert [(1, "ID_REUSED"), (2, "ID_REUSED")] == reasons


async def test_original_bytes_and_headers_survive_parking(database: str) -> None:
    """A dead letter holds exactly what came, header bytes that are no text included."""
    headers = [*alert_headers("event-9"), ("odd", b"\xff\xfe"), ("none", None)]
    async with intake_over(database) as intake:
        await intake.handle(
            [RawRecord("caseops.alerts", 0, 0, b"\x00key", b"{broken", headers)]
        )

    [(key, value, kept)] = await rows(
        database, "select key, value, headers from dead_letters"
    )
    assert (b"\x00key", b"{broken") == (bytes(key), bytes(value))
    assert [name for name, _ in headers] == [name for name, _ in kept]
    assert ["odd", "//4="] in kept
    assert ["none", None] in kept


async def test_two_members_decide_one_batch_once(database: str) -> None:
    """A zombie and its successor on the same records: one of them has the effect."""
    records = [alert_record(at) for at in range(20)]
    async with intake_over(database) as one, intake_over(database) as other:
        await asyncio.gather(one.handle(records), other.handle(records))

    types = Counter(event.type for event in await log_of(database))
    assert 20 == types["dev.caseops.alert.received.v1"]
    assert 1 == types["dev.caseops.intake.accepted.v1"]


async def test_sequences_are_contiguous_per_key(database: str) -> None:
    """SHAPE-12: the sequence of a key counts from 1 without holes."""
    async with intake_over(database) as intake:
        await intake.handle(
            [alert_record(at, environment=f"env-{at % 3}") for at in range(30)]
        )

    by_key: dict[str | None, list[int | None]] = {}
    for event in await log_of(database):
        by_key.setdefault(event.partitionkey, []).append(event.sequence)
    assert all(list(range(1, len(found) + 1)) == found for found in by_key.values())
    assert 3 == len(by_key)


async def test_a_record_the_database_refuses_is_parked_alone(database: str) -> None:
    """One guilty record is found by halving; its neighbours have their effect."""
    await rows(
        database,
        "alter table case_signals add constraint no_evil check (fingerprint <> 'evil')",
    )
    records = [alert_record(at) for at in range(6)]
    records[3] = alert_record(3, fingerprint="evil")
    async with intake_over(database) as intake:
        await intake.handle(records)

    letters = await rows(database, 'select "offset", reason from dead_letters')
    received = [e for e in await log_of(database) if e.type.endswith("alert.received.v1")]
    assert [(3, "DATABASE_REFUSED")] == letters
    assert 5 == len(received)


async def test_skips_wait_in_memory_and_are_flushed(database: str) -> None:
    """A batch with nothing of ours opens no transaction; a flush writes what waits."""
    other = [("ce_type", b"dev.caseops.join.closed.v1")]
    records = [RawRecord("caseops.alerts", 0, at, None, b"{}", other) for at in range(3)]
    async with intake_over(database) as intake:
        await intake.handle(records)
        before = await rows(database, "select count(*) from skips")
        await rows(
            database,
            "insert into consumer_progress values ('intake', 'caseops.alerts', 0, 0)",
        )
        await intake.flush()

    assert [(0,)] == before
    assert [("other_type", 3)] == await rows(database, "select reason, count from skips")
    assert [(3,)] == await rows(database, "select next_offset from consumer_progress")


async def test_a_fact_that_comes_from_outside_is_none(database: str) -> None:
    """A completion event on the alert topic closes no case: facts travel on the log."""
    async with intake_over(database) as intake:
        await intake.handle([alert_record(0)])
        opened = await log_of(database)
        forged = RawRecord(
            "caseops.alerts",
            0,
            1,
            b"k",
            b"{}",
            [
                (name, b"dev.caseops.incident.completed.v1" if name == "ce_type" else raw)
                for name, raw in alert_headers("forged")
            ],
        )
        await intake.handle([forged, alert_record(2, environment="behind")])

    assert 6 == len(await log_of(database)) == 2 * len(opened)
    assert [] == await rows(database, "select * from dead_letters")


async def test_a_service_cannot_append_to_a_foreign_stream(database: str) -> None:
    """The row policy refuses a run fact from the join engine's role (RES-10, GOAL-07)."""
    forged = Fact(
        id="00000000-0000-5000-8000-000000000001",
        key="k",
        stream="run/x",
        streamversion=1,
        type="dev.caseops.incident.completed.v1",
        writer="join_engine",
        time=datetime(2026, 7, 23, tzinfo=UTC),
        tenant="t",
        runid=None,
        correlationid="k",
        causationid=None,
        traceparent=None,
        planversion=None,
        dataschema="urn:x",
        data=b"{}",
        topics=(),
    )
    async with (
        edges_to(database, "join_engine", "join_engine") as edges,
        edges.pool.connection() as connection,
    ):
        with pytest.raises(NotPermitted):
            await write(connection, Batch("join_engine", facts=[forged]))
