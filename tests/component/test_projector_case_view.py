"""The projector on a real database: duplicates, gaps, held keys, parking, restarts."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import REGISTRY

from consumers.case_view_projector import case_view_projector
from consumers.project import ProjectOnce
from event_schemas.alerts import AlertReceived, IntakeRejected
from event_schemas.cases import CaseOpened, CaseSignalAdded, IntakeAccepted
from event_schemas.delegations import DelegationCreated
from event_schemas.payload import Payload
from event_schemas.runs import IncidentStarted, ReportPublished, RunCompleted
from infra import database as databases
from projections.case_view import queries
from tests.support.builders import RUN, a, history
from tests.support.log_rows import store
from tests.support.records import RawRecord, event_record
from tests.support.store import edges_to, rows

FACTS = (
    a(AlertReceived),
    a(CaseOpened),
    a(IntakeAccepted),
    a(IncidentStarted),
    a(DelegationCreated),
    a(ReportPublished),
    a(RunCompleted),
)
OTHER = "11111111-3556-556a-8245-1600b6729673"


@asynccontextmanager
async def projector_over(url: str) -> AsyncIterator[ProjectOnce]:
    """Give a case view projector over the database at *url*."""
    async with edges_to(url, "case_view", "projector") as edges:
        yield case_view_projector(edges)


def records(
    facts: Sequence[Payload] = FACTS, *, key: str = RUN, case: str = "c-1", first: int = 0
) -> list[RawRecord]:
    """Return *facts* as records of the log, from offset *first*."""
    return [
        event_record(first + at, envelope)
        for at, (envelope, _) in enumerate(history(facts, key=key, case=case))
    ]


def another_run() -> list[RawRecord]:
    """Return the records of a second run, after those of the first."""
    facts = [
        a(AlertReceived),
        a(CaseOpened, case_id="c-2", run_id=OTHER),
        a(IntakeAccepted, case_id="c-2", run_id=OTHER),
    ]
    return records(facts, key=OTHER, case="c-2", first=100)


async def documents(url: str) -> list[tuple[Any, ...]]:
    """Return the view rows, in full."""
    runs = await rows(url, "select run_id, sequence, document from run_view order by 1")
    return runs + await rows(url, "select case_id, document from case_view order by 1")


async def skipped(url: str) -> dict[str, int]:
    """Return what the projector counted, by reason."""
    return dict(await rows(url, "select reason, sum(count)::int from skips group by 1"))


async def progress(url: str, key: str = RUN) -> tuple[int, str | None]:
    """Return sequence and hold of *key*."""
    [row] = await rows(url, "select sequence, held from view_progress where key = %s", key)
    return row[0], row[1]


async def test_events_become_a_run_and_a_case(database: str) -> None:
    """Each folded record is counted, and the view holds what the events say."""
    async with projector_over(database) as projector:
        await projector.handle(records())

    assert {"folded": 7} == await skipped(database)
    assert [(RUN, "completed", "partial", 7)] == await rows(
        database, "select run_id, status, result_status, sequence from run_view"
    )
    assert [("c-1", "payments")] == await rows(
        database, "select case_id, service_group from case_view"
    )


async def test_duplicates_change_nothing(database: str) -> None:
    """A record at or below the key's sequence is a counted duplicate, in any process."""
    async with projector_over(database) as projector:
        await projector.handle(records())
        before = await documents(database)
        await projector.handle(records(first=7))
    async with projector_over(database) as restarted:
        await restarted.handle(records(first=14))

    assert before == await documents(database)
    assert {"folded": 7, "duplicate": 14} == await skipped(database)


async def test_one_by_one_equals_all_at_once(database: str) -> None:
    """A projector that restarts after every record ends with the same rows as one batch."""
    for record in records():
        async with projector_over(database) as projector:
            await projector.handle([record])
    piecewise = await documents(database)
    await rows(database, "truncate run_view, case_view, view_progress, consumer_progress")
    async with projector_over(database) as projector:
        await projector.handle(records())

    assert piecewise == await documents(database)


async def test_a_gap_is_filled_from_the_store(database: str) -> None:
    """Events that the log lost on the way are read from the store; late copies are duplicates."""
    await store(database, history(FACTS, case="c-1"))
    all_records = records()
    async with projector_over(database) as projector:
        await projector.handle([all_records[0], all_records[4]])
        await projector.handle(all_records[5:])

    assert (7, None) == await progress(database)
    assert {"folded": 4} == await skipped(database)


async def test_a_gap_that_the_store_cannot_fill_holds_the_key(database: str) -> None:
    """The key waits, named with the gap; the next event after the gap has closed releases it."""
    events = history(FACTS, case="c-1")
    all_records = records()
    async with projector_over(database) as projector:
        await projector.handle([all_records[0], all_records[4], *another_run()])
        held = await progress(database)
        await store(database, events)
        await projector.handle([records(first=200)[5]])

    assert (1, "ORDER_GAP: events 2 to 4 are missing") == held
    assert (6, None) == await progress(database)
    assert (3, None) == await progress(database, OTHER)
    assert {"folded": 5, "held": 1} == await skipped(database)


async def test_a_held_key_is_released_by_the_timer(database: str) -> None:
    """No further event is needed: the projector looks at held keys again."""
    all_records = records()
    async with projector_over(database) as projector:
        await projector.handle([all_records[0], all_records[4]])
        assert 0 == await projector.retry_held()
        await store(database, history(FACTS, case="c-1"))
        released = await projector.retry_held()
        await projector.handle(all_records[5:])

    assert 1 == released
    assert (7, None) == await progress(database)
    assert {"folded": 1, "held": 1, "duplicate": 2} == await skipped(database)


async def test_a_fold_that_raises_parks_the_event_and_holds_the_key(database: str) -> None:
    """The poisoned run stops where it is; the run next to it goes on."""
    orphan = [a(AlertReceived), a(CaseOpened), a(IncidentStarted)]
    async with projector_over(database) as projector:
        broken = projector.projection.fold

        def fold(state: Any, envelope: Any, payload: Payload) -> Any:
            if isinstance(payload, CaseOpened) and envelope.partitionkey == RUN:
                raise KeyError("no such field")
            return broken(state, envelope, payload)

        projector.projection = replace(projector.projection, fold=fold)
        await projector.handle([*records(orphan), *another_run()])

    [(reason, offset)] = await rows(database, 'select reason, "offset" from dead_letters')
    sequence, held = await progress(database)
    assert ("HANDLER_FAILED", 1, 1) == (reason, offset, sequence)
    assert held is not None
    assert held.startswith("HANDLER_FAILED: event 2 (")
    assert (3, None) == await progress(database, OTHER)
    assert {"folded": 4, "held": 1} == await skipped(database)


async def test_a_repaired_fold_goes_on_from_the_store(database: str) -> None:
    """After a repair the held event is read from the store, and nothing is lost."""
    await store(database, history(FACTS, case="c-1"))
    async with projector_over(database) as projector:
        good = projector.projection

        def fold(*_: Any) -> Any:
            raise ValueError("broken release")

        projector.projection = replace(good, fold=fold)
        await projector.handle(records()[:2])
        projector.projection = good
        released = await projector.retry_held()

    assert (1, (7, None)) == (released, await progress(database))


async def test_a_row_the_database_refuses_holds_its_key_alone(database: str) -> None:
    """A refusal of the database is found by halving: that event is parked, its key held."""
    await rows(
        database,
        f"alter table run_view add constraint no_evil check (run_id <> '{RUN}')",
    )
    async with projector_over(database) as projector:
        await projector.handle([*records()[:3], *another_run()])

    letters = await rows(database, 'select reason, "offset" from dead_letters')
    sequence, held = await progress(database)
    assert [("DATABASE_REFUSED", 2)] == letters
    assert (2, True) == (sequence, bool(held and held.startswith("DATABASE_REFUSED")))
    assert (3, None) == await progress(database, OTHER)


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (RawRecord("caseops.events", 0, 0, b"k", None), "TOMBSTONE"),
        (RawRecord("caseops.events", 0, 0, b"k", b"{}"), "NOT_CLOUDEVENT"),
        (
            RawRecord("caseops.events", 0, 0, b"k", b"{}", [("ce_type", b"com.other.v1")]),
            "SCHEMA_UNKNOWN",
        ),
        (
            event_record(0, replace(history([a(CaseOpened)])[0][0], sequence=None)),
            "BAD_HEADER",
        ),
        (
            event_record(0, replace(history([a(CaseOpened)])[0][0], data=b"{}")),
            "SCHEMA_INVALID",
        ),
    ],
)
async def test_the_case_view_answers_for_the_log(
    database: str, record: RawRecord, code: str
) -> None:
    """What nobody can read on the log is parked by the case view, the next record is folded."""
    async with projector_over(database) as projector:
        await projector.handle([record, *records(first=1)])

    assert [(code,)] == await rows(database, "select reason from dead_letters")
    assert {"folded": 7} == await skipped(database)
    assert [("caseops.dlq.case_view",)] == await rows(database, "select topic from outbox")


async def test_refusals_only_advance_their_key(database: str) -> None:
    """INT-16: a refused alert is folded and shows no row."""
    async with projector_over(database) as projector:
        await projector.handle(records([a(IntakeRejected)], key="prod-cn/refused"))

    assert [] == await documents(database)
    assert (1, None) == await progress(database, "prod-cn/refused")


async def test_two_members_fold_each_event_once(database: str) -> None:
    """A zombie and its successor on the same records: the view counts each event once."""
    async with projector_over(database) as one, projector_over(database) as other:
        await asyncio.gather(one.handle(records()), other.handle(records()))

    assert (7, None) == await progress(database)
    assert [(3,)] == await rows(
        database, "select jsonb_array_length(document->'case'->'signals') + 2 from run_view"
    )


async def test_many_runs_in_one_batch(database: str) -> None:
    """A batch of interleaved runs folds each in its own order."""
    runs = [f"run-{number}" for number in range(30)]
    facts = [a(AlertReceived), a(CaseOpened), a(CaseSignalAdded), a(IntakeAccepted)]
    by_run = [
        history([*facts[:3], a(IntakeAccepted, run_id=run, case_id=run)], key=run, case=run)
        for run in runs
    ]
    mixed = [events[at][0] for at in range(4) for events in by_run]
    async with projector_over(database) as projector:
        await projector.handle([event_record(at, env) for at, env in enumerate(mixed)])

    assert [(30, 60)] == await rows(
        database,
        "select count(*)::int, sum((document->>'signals')::int)::int from run_view",
    )


async def test_ended_runs_and_first_judgements_are_measured(database: str) -> None:
    """OBS-12: runs by outcome, and the seconds from intake to the first report."""
    labels = {"outcome": "PARTIAL_EVIDENCE", "result_status": "partial"}
    before = REGISTRY.get_sample_value("caseops_runs_total", labels) or 0
    judged = REGISTRY.get_sample_value("caseops_first_judgement_seconds_count") or 0
    async with projector_over(database) as projector:
        await projector.handle(records())

    assert before + 1 == REGISTRY.get_sample_value("caseops_runs_total", labels)
    assert judged + 1 == REGISTRY.get_sample_value("caseops_first_judgement_seconds_count")


async def test_the_reader_sees_the_documents(database: str) -> None:
    """The read-only role answers runs, show and events, by id or by its beginning."""
    await store(database, history(FACTS, case="c-1"))
    async with projector_over(database) as projector:
        await projector.handle(records())
    reader = await databases.connect(database, "reader")
    try:
        [run] = await queries.runs(reader)
        shown = await queries.show(reader, RUN)
        ids = [await queries.full_id(reader, text) for text in (RUN, RUN[:8], "fc", "nope")]
        types = [event["type"] for event in await queries.events(reader, RUN)]
    finally:
        await reader.close()

    assert (RUN, "completed_degraded", 1) == (run["run_id"], run["stage"], run["signals"])
    assert shown is not None
    assert "dev.caseops.incident.completed.v1" == shown["completion"]["type"]
    assert [RUN, RUN, None, None] == ids
    assert 7 == len(types)
