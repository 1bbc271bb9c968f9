"""The commands that look, over a real database: their documents, their pages, their exit codes."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

import pytest
from structlog.testing import capture_logs

from caseops.cli.entry import run
from consumers.case_view_projector import case_view_projector
from event_schemas.alerts import AlertReceived
from event_schemas.cases import CaseOpened, IntakeAccepted
from event_schemas.delegations import DelegationCreated
from event_schemas.joins import ConflictRecorded
from event_schemas.results import ResultSubmitted
from event_schemas.runs import IncidentStarted, ReportPublished, RunCompleted
from tests.support.builders import RUN, TASKS, a, a_result, history
from tests.support.log_rows import store
from tests.support.outbox_rows import outbox, put
from tests.support.records import RawRecord, event_record
from tests.support.store import edges_to, rows

Cli = Callable[..., Awaitable[tuple[int, Any]]]
FACTS = (
    a(AlertReceived),
    a(CaseOpened),
    a(IntakeAccepted),
    a(IncidentStarted),
    a(DelegationCreated),
    a(ResultSubmitted, task_id=TASKS["logs"], result=a_result()),
    a(ConflictRecorded),
    a(ReportPublished),
    a(RunCompleted),
)


@pytest.fixture
def cli(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Cli:
    """Give a call of the command line on this database: exit code, and the JSON or text."""
    monkeypatch.setenv("CASEOPS_DATABASE_URL", database)

    async def call(*arguments: str) -> tuple[int, Any]:
        capsys.readouterr()
        with capture_logs():  # the process sends them to stderr, see `main`
            code = await asyncio.to_thread(run, arguments)
        printed = capsys.readouterr().out
        return code, json.loads(printed) if "--json" in arguments else printed

    return call


async def projected(url: str) -> None:
    """Store and project one finished run, and one record that nobody can read."""
    events = history(FACTS, case="c-1")
    await store(url, events)
    junk = RawRecord("caseops.events", 0, 0, b"k\x00", b"junk")
    records = [junk, *(event_record(at, env) for at, (env, _) in enumerate(events, 1))]
    async with edges_to(url, "case_view", "projector") as edges:
        await case_view_projector(edges).handle(records)


async def test_runs_are_listed(database: str, cli: Cli) -> None:
    """`runs` gives an array of flat rows, and can be limited to one tenant."""
    await projected(database)
    _, found = await cli("runs", "--json")
    _, others = await cli("runs", "--tenant", "other", "--json")

    assert [RUN] == [row["run_id"] for row in found]
    assert "2026-07-23T02:02:05.120000Z" == found[0]["started_at"]
    assert [] == others


async def test_show_gives_the_whole_document(database: str, cli: Cli) -> None:
    """`show` gives the fields that scripts rely on, and the completion as a CloudEvent."""
    await projected(database)
    code, found = await cli("show", RUN[:8], "--json")

    fields = {
        "run_id", "tenant", "kind", "status", "result_status", "outcome", "termination_reason",
        "deadline_at", "signals", "delegations", "claims", "conflicts", "missing", "report",
        "completion", "timeline", "task", "stage", "case",
    }  # fmt: skip
    assert (0, set()) == (code, fields - found.keys())
    assert "1.0" == found["completion"]["specversion"]
    assert {"task_id", "specialist", "status", "attempts"} <= found["delegations"][0].keys()
    assert {"topic", "claims", "resolution"} <= found["conflicts"][0].keys()
    assert {"evidence_id", "kind", "uri", "sha256"} == found["claims"][0]["evidence"][
        0
    ].keys()


async def test_show_is_a_page_for_people(database: str, cli: Cli) -> None:
    """Without --json the page says that the result is partial and what is unresolved."""
    await projected(database)
    code, text = await cli("show", RUN)

    assert 0 == code
    assert "partial: some of the evidence is missing" in text
    assert "unresolved" in text


async def test_an_unknown_run_is_not_found(database: str, cli: Cli) -> None:
    """Not found is exit code 1 with a stable code."""
    code, told = await cli("show", "no-such-run", "--json")

    assert (1, "NO_SUCH_RUN") == (code, told["code"])


async def test_events_come_in_order(database: str, cli: Cli) -> None:
    """`events` gives the CloudEvents of the run in structured form, by sequence."""
    await projected(database)
    _, found = await cli("events", RUN, "--json")

    assert list(range(1, 10)) == [int(event["sequence"]) for event in found]
    assert {"specversion", "id", "source", "type", "data", "subject"} <= found[0].keys()


async def test_dead_letters_are_listed(database: str, cli: Cli) -> None:
    """`dlq list` names each parked record, why and how often."""
    await projected(database)
    _, [letter] = await cli("dlq", "list", "--json")

    fields = {
        "id", "consumer", "topic", "partition", "offset", "key", "reason", "attempts",
        "first_seen", "last_seen", "bytes",
    }  # fmt: skip
    assert set() == fields - letter.keys()
    assert ("case_view:caseops.events/0@0", "NOT_CLOUDEVENT", 4) == (
        letter["id"],
        letter["reason"],
        letter["bytes"],
    )


async def test_a_parked_outbox_row_is_retried_and_skipped(database: str, cli: Cli) -> None:
    """Retry frees a parked row, skip drops it; a row that is not parked is left alone."""
    position = put(database, "caseops.commands.logs", b"order")
    refused, _ = await cli("outbox", "skip", str(position))
    await rows(database, "update outbox set parked_at = now(), error = 'refused'")
    _, [listed] = await cli("outbox", "list", "--json")
    retried, done = await cli("outbox", "retry", str(position), "--json")
    await rows(database, "update outbox set parked_at = now()")
    skipped, _ = await cli("outbox", "skip", str(position))

    assert (1, 0, 0) == (refused, retried, skipped)
    assert ("refused", "retry") == (listed["error"], done["done"])
    assert [] == outbox(database)


async def test_an_artifact_is_read_back(database: str, cli: Cli) -> None:
    """`artifact get` gives the bytes and says whether they have the hash they are named by."""
    sha = sha256(b"text").hexdigest()
    insert = "insert into artifacts (sha256, size, media_type, tenant, bytes) values (%s, 4, 'text/plain', 't', 'text')"
    await rows(database, insert, sha)
    _, found = await cli("artifact", "get", f"artifact://sha256/{sha}", "--json")
    missing, _ = await cli("artifact", "get", "0" * 64)

    assert {"sha256": sha, "size": 4, "intact": True, "text": "text"} == found
    assert 1 == missing


async def test_an_unmigrated_database_is_a_dependency_away(
    cli: Cli, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database without our schema is exit code 3 with a hint, not a traceback."""
    monkeypatch.setenv("CASEOPS_DATABASE_URL", postgres_url)
    code, told = await cli("runs", "--json")

    assert 3 == code
    assert "caseops up" in told["hint"]
