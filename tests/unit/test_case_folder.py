"""A case folder as a source."""

import gzip
from datetime import timedelta
from pathlib import Path

import pytest

from consumers.specialists.questions import Window
from consumers.specialists.sources.case_folder import CaseFolder
from consumers.specialists.sources.live import LiveSources
from consumers.specialists.sources.opened import by_grant, case_folders
from consumers.specialists.telemetry import NotKept, RateLimited, Scope, SourceAway
from consumers.specialists.tool_grant import GrantWindow, ToolGrant
from tests.support.case_folders import END, SERVICES, START, payment_case


def _scope(*services: str, limit: int = 10_000) -> Scope:
    return Scope(services or SERVICES, Window(START, END), limit)


def _grant(folder: str, task: str) -> ToolGrant:
    return ToolGrant(
        task_id=task,
        services=SERVICES,
        window=GrantWindow(start=START, end=END),
        case_folder=folder,
    )


async def test_rows_outside_services_or_window_are_not_given(tmp_path: Path) -> None:
    """The scope decides, whatever the folder holds."""
    folder = CaseFolder(payment_case(tmp_path / "case"))
    narrow = Scope(SERVICES, Window(START, START + timedelta(minutes=1)))

    assert (await folder.logs(_scope("risk-gateway"))).rows == ()
    assert 7 == len((await folder.logs(narrow)).rows)


async def test_a_limit_cuts_and_says_so(tmp_path: Path) -> None:
    """Nobody mistakes a cut answer for the whole."""
    found = await CaseFolder(payment_case(tmp_path / "case")).logs(_scope(limit=5))

    assert (5, True) == (len(found.rows), found.truncated)


async def test_compressed_files_read_like_plain_ones(tmp_path: Path) -> None:
    """A folder may hold either form."""
    plain = payment_case(tmp_path / "case")
    before = await CaseFolder(plain).series(_scope(), None)
    packed = gzip.compress((plain / "metrics.csv").read_bytes())
    (plain / "metrics.csv.gz").write_bytes(packed)
    (plain / "metrics.csv").unlink()

    assert before == await CaseFolder(plain).series(_scope(), None)


async def test_labels_are_read_from_the_metric_column(tmp_path: Path) -> None:
    """A breakdown stands in the column as it would in a query."""
    folder = CaseFolder(payment_case(tmp_path / "case"))
    (found,) = await folder.series(_scope(), {"region": "cn-east"})

    assert ("success_rate_percent", (("region", "cn-east"),)) == (
        found.metric,
        found.labels,
    )


async def test_what_is_not_there_is_not_kept(tmp_path: Path) -> None:
    """An absent file is a fact about the system, not a fault."""
    folder = payment_case(tmp_path / "case")
    (folder / "logs.jsonl").unlink()

    with pytest.raises(NotKept):
        await CaseFolder(folder).logs(_scope())
    with pytest.raises(NotKept):
        await CaseFolder(folder).cluster_state(_scope())


async def test_limits_make_a_source_refuse(tmp_path: Path) -> None:
    """Rate limits count requests; a broken source never answers."""
    limits = {"metrics": {"requests_before_429": 1}, "changes": {"unavailable": True}}
    folder = CaseFolder(payment_case(tmp_path / "case", limits=limits))
    await folder.series(_scope(), None)

    with pytest.raises(RateLimited):
        await folder.series(_scope(), None)
    with pytest.raises(SourceAway):
        await folder.changes(_scope())


def test_a_delegation_keeps_its_source_and_others_get_their_own(tmp_path: Path) -> None:
    """A rate limit counts within one delegation only."""
    folder = str(payment_case(tmp_path / "case"))
    opened = case_folders()
    first = opened(_grant(folder, "t1"))

    assert first is opened(_grant(folder, "t1"))
    assert first is not opened(_grant(folder, "t2"))


def test_a_grant_without_a_folder_reads_live_sources() -> None:
    """Real backends serve whatever names no recorded case."""
    live = LiveSources()

    assert live is by_grant(case_folders(), live)(_grant("", "t"))
