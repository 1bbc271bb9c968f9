"""Leases on a real database: one winner, new attempts, late work, lost work."""

import asyncio
from typing import Any

import pytest

from consumers.specialists import work_items
from consumers.specialists.app import SpecialistApp
from consumers.specialists.capabilities import Limits
from consumers.specialists.finishing import Finished
from consumers.specialists.results import submitted
from consumers.specialists.work_items import WorkItem
from event_schemas.artifacts import ArtifactStored
from event_schemas.delegations import LeaseAcquired, LeaseExpired
from event_schemas.results import ResultSubmitted
from infra.artifacts import freeze
from tests.support.eventually import eventually
from tests.support.specialist_desk import (
    a_cancel,
    an_order,
    logs_entry,
    names,
    order_record,
    recorded,
    specialist,
)
from tests.support.store import rows

LAPSE = (
    "update work_items set lease_until = clock_timestamp() - interval '1 ms' returning 1"
)
NO_WORKERS = Limits(workers=0)


def finished(item: WorkItem, note: str = "found") -> Finished:
    """Return the finished work of *item*: one artifact, one result."""
    frozen = freeze(b'{"note":1}', "application/json", item.tenant)
    stored = ArtifactStored(
        artifact_uri=frozen.uri,
        sha256=frozen.sha256,
        size=frozen.size,
        media_type=frozen.media_type,
        schema_ref="search_logs@2",
        producer="log-investigator@3",
        tool_call_id="call-1",
    )
    result = submitted(item.order, item.attempt, {"summary": note})
    return Finished(item, (stored, result), (frozen,))


async def taken(app: SpecialistApp, limit: int = 1) -> list[WorkItem]:
    """Return what a worker of *app* takes over."""
    return await app.workers.leaser.take(limit)


async def waiting_task(app: SpecialistApp) -> None:
    """Put one task into the table of *app*, which has no workers."""
    await app.handle([order_record(0, an_order())])


async def test_of_twenty_takers_one_gets_the_task(database: str) -> None:
    """Racing for one task ends in exactly one lease (SCHED-09)."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        got = await asyncio.gather(*(taken(app) for _ in range(20)))

    assert 1 == sum(len(items) for items in got)
    assert 1 == len(await recorded(database, LeaseAcquired))


async def test_a_silent_worker_loses_its_task(database: str) -> None:
    """A lapsed lease is recorded, and the next attempt has a new token (SCHED-11)."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        [first] = await taken(app)
        assert [] == await taken(app)
        await rows(database, LAPSE)
        [second] = await taken(app)

    assert (1, 2) == (first.attempt, second.attempt)
    assert first.lease_token != second.lease_token
    assert first.order == second.order
    [lost] = await recorded(database, LeaseExpired)
    assert isinstance(lost, LeaseExpired)
    assert (1, 2) == (lost.attempt, lost.next_attempt)


async def test_attempts_run_out(database: str) -> None:
    """After the last attempt the task ends in a failed result (SCHED-18)."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        for _ in range(3):
            assert 1 == len(await taken(app))
            await rows(database, LAPSE)
        assert [] == await taken(app)
        assert [] == await taken(app)

    [result] = await recorded(database, ResultSubmitted)
    assert isinstance(result, ResultSubmitted)
    assert ("failed", "ATTEMPTS_EXHAUSTED", 3) == (
        result.result["status"],
        result.result["error_code"],
        result.attempt,
    )
    assert [("expired",)] == await rows(database, "select state from work_items")
    lost = await recorded(database, LeaseExpired)
    assert [2, 3, None] == [f.next_attempt for f in lost if isinstance(f, LeaseExpired)]


async def test_no_attempt_follows_the_deadline(database: str) -> None:
    """Past the deadline a lost task is closed; the join has judged its absence already."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        await taken(app)
        await rows(database, LAPSE)
        await rows(
            database, "update work_items set deadline_at = caseops.now() returning 1"
        )
        assert [] == await taken(app)

    assert [] == await recorded(database, ResultSubmitted)
    assert [("expired",)] == await rows(database, "select state from work_items")


async def test_a_result_under_a_valid_lease_counts(database: str) -> None:
    """Facts, artifact, its record and the closed row come together (SCHED-10)."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        [item] = await taken(app)
        assert {item.lease_token} == await app.workers.finisher.write([finished(item)])

    assert [
        "DelegationAccepted",
        "LeaseAcquired",
        "ArtifactStored",
        "ResultSubmitted",
    ] == await names(database)
    assert [("done", None)] == await rows(
        database, "select state, lease_token from work_items"
    )
    assert [(1,)] == await rows(
        database, "select count(*) from outbox where kind = 'artifact'"
    )


@pytest.mark.parametrize("taken_over", [False, True])
async def test_a_late_result_is_an_artifact_only(
    database: str, *, taken_over: bool
) -> None:
    """Work under a lost lease leaves its labelled result and nothing else (ART-11)."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        [item] = await taken(app)
        await rows(database, LAPSE)
        if taken_over:
            await taken(app)
        assert set() == await app.workers.finisher.write([finished(item)])

    assert [] == await recorded(database, ResultSubmitted)
    [late] = await recorded(database, ArtifactStored)
    assert isinstance(late, ArtifactStored)
    assert late.late
    assert [(b'{"summary":"found"}',)] == await rows(
        database, "select bytes from artifacts"
    )
    assert [("leased", 2 if taken_over else 1)] == await rows(
        database, "select state, attempt from work_items"
    )


async def test_late_and_valid_work_of_one_task_finish_together(database: str) -> None:
    """In one transaction the valid result counts and the old attempt's is kept as late."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        [old] = await taken(app)
        await rows(database, LAPSE)
        [new] = await taken(app)
        work = [finished(old, "old"), finished(new, "new")]
        assert {new.lease_token} == await app.workers.finisher.write(work)

    [result] = await recorded(database, ResultSubmitted)
    assert isinstance(result, ResultSubmitted)
    assert {"summary": "new"} == result.result
    late = await recorded(database, ArtifactStored)
    assert [False, True] == [f.late for f in late if isinstance(f, ArtifactStored)]


async def test_a_finished_task_is_not_taken_again(database: str) -> None:
    """A crash between finishing and the next heartbeat leaves nothing to take over."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        [item] = await taken(app)
        await app.workers.finisher.write([finished(item)])
        await rows(database, LAPSE)
        assert [] == await taken(app)
        assert set() == await extended(app, [item])
        assert set() == await app.workers.finisher.write([finished(item)])

    assert 1 == len(await recorded(database, ResultSubmitted))
    assert [] == await recorded(database, LeaseExpired)


async def extended(app: SpecialistApp, items: list[WorkItem]) -> set[str]:
    """Return the tokens of *items* that still hold after a heartbeat."""
    async with app.workers.edges.pool.connection() as connection:
        return await work_items.extend(connection, items, 30.0, 900.0)


async def test_a_heartbeat_holds_the_task(database: str) -> None:
    """A heartbeat extends the lease; nobody else gets the task meanwhile (SCHED-17)."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        [item] = await taken(app)
        before = await rows(database, "select lease_until from work_items")
        assert {item.lease_token} == await extended(app, [item])
        assert before < await rows(database, "select lease_until from work_items")
        assert [] == await taken(app)


@pytest.mark.parametrize(
    "lost",
    [
        LAPSE,
        "update work_items set state = 'cancelled' returning 1",
        "update work_items set deadline_at = caseops.now() - interval '1 hour' returning 1",
    ],
)
async def test_a_heartbeat_sees_what_was_lost(database: str, lost: str) -> None:
    """Cancelled, lapsed and far too late tasks are not extended."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        [item] = await taken(app)
        await rows(database, lost)

        assert set() == await extended(app, [item])


async def test_a_shifted_clock_keeps_leases(database: str) -> None:
    """Tests that shift the clock past deadlines do not take work away from its worker."""
    async with specialist(database, limits=NO_WORKERS, running=False) as app:
        await waiting_task(app)
        [item] = await taken(app)
        await rows(database, "update clock set shift = interval '10 minutes' returning 1")

        assert {item.lease_token} == await extended(app, [item])
        assert [] == await taken(app)


async def never(*_: Any) -> None:
    """Never answer."""
    await asyncio.Event().wait()


async def test_work_stops_once_it_is_cancelled(database: str) -> None:
    """The heartbeat sees the cancel and the worker is free again."""
    limits = Limits(workers=2, lease=1.0, drain=0.1)
    async with specialist(database, logs_entry(conclude=never), limits) as app:
        await app.handle([order_record(0, an_order())])
        assert 1 == app.workers.free
        await app.handle([order_record(1, a_cancel())])

        async def free() -> None:
            assert 2 == app.workers.free

        await eventually(free)
    assert ["DelegationAccepted", "LeaseAcquired"] == await names(database)


async def test_a_killed_workers_task_is_done_by_another(database: str) -> None:
    """What a dead process held is finished as attempt 2 (SCHED-11)."""
    short = Limits(workers=2, lease=0.6, drain=0.1)
    async with specialist(database, limits=short, running=False) as dead:
        await dead.handle([order_record(0, an_order())])
    async with specialist(database, limits=short):

        async def done() -> None:
            assert 1 == len(await recorded(database, ResultSubmitted))

        await eventually(done)

    [result] = await recorded(database, ResultSubmitted)
    assert isinstance(result, ResultSubmitted)
    assert (2, "completed") == (result.attempt, result.result["status"])


async def test_a_worker_that_stops_gives_its_leases_back(database: str) -> None:
    """What a stopping process cannot finish is free at once, not after the lease."""
    async with specialist(database, logs_entry(conclude=never)) as app:
        await app.handle([order_record(0, an_order())])
    async with specialist(database, limits=NO_WORKERS, running=False) as other:
        [item] = await taken(other)

    assert 2 == item.attempt
