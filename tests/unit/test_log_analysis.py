"""The log investigator's judgement."""

from pathlib import Path

import pytest

from consumers.specialists.logs.analysis import EVIDENCE, conclude, next_calls
from consumers.specialists.logs.answers import EdgeShift, FlowBreak, TraceSummary
from consumers.specialists.logs.suspicions import from_traces
from consumers.specialists.questions import Budget, Conclusion, Finding
from tests.support.case_folders import payment_case
from tests.support.offline import ask, question_of


def _shift(caller: str, callee: str, gap: float, *, calls: int = 20) -> EdgeShift:
    return EdgeShift(
        caller=caller,
        callee=callee,
        spans_before=20,
        spans_after=calls,
        p95_before=9.0,
        p95_after=9.0,
        gap_before=3.0,
        gap_after=gap,
        gap_since=None,
    )


def _traces(*edges: EdgeShift, breaks: tuple[FlowBreak, ...] = ()) -> TraceSummary:
    return TraceSummary(rows_scanned=1, entry_services=(), edges=edges, breaks=breaks)


async def _logs_of(folder: Path, **limits: dict[str, object]) -> Conclusion:
    payment_case(folder, limits=limits)
    return await ask("logs", question_of(folder), folder, task_id="t")


async def test_the_exhausted_pool_is_named_with_its_lead(tmp_path: Path) -> None:
    """S1: the cause, its service, and by how much it came first."""
    conclusion = await _logs_of(tmp_path / "case")
    (cause,) = [claim for claim in conclusion.claims if claim.key == "primary_cause"]

    assert ("connection_pool_exhaustion", "payment-api") == (cause.value, cause.subject)
    assert "precedes the drop by 42 s" in cause.statement
    assert ("ev-1", "ev-2") == cause.evidence_refs


async def test_a_lost_shard_makes_the_answer_partial(tmp_path: Path) -> None:
    """S1-n: what could not be read is named, what could be read still counts."""
    conclusion = await _logs_of(
        tmp_path / "case", logs={"unavailable_shards": ["cn-east-3"]}
    )

    assert ("partial", ("log-shard-cn-east-3",)) == (
        conclusion.status,
        conclusion.missing_evidence,
    )
    assert any(claim.key == "primary_cause" for claim in conclusion.claims)


async def test_broken_logs_and_traces_are_a_failure_with_its_code(tmp_path: Path) -> None:
    """When nothing could be read, nothing is claimed."""
    away = {"unavailable": True}
    conclusion = await _logs_of(tmp_path / "case", logs=dict(away), traces=dict(away))

    assert ("failed", "UPSTREAM_UNAVAILABLE", ()) == (
        conclusion.status,
        conclusion.error_code,
        conclusion.claims,
    )


async def test_half_an_answer_is_partial(tmp_path: Path) -> None:
    """Traces alone still make an answer; the broken half is listed."""
    conclusion = await _logs_of(tmp_path / "case", logs={"unavailable": True})

    assert "partial" == conclusion.status
    assert conclusion.missing_evidence


async def test_every_claim_cites_a_finding_without_error(tmp_path: Path) -> None:
    """CLM-01: evidence that failed supports nothing."""
    conclusion = await _logs_of(tmp_path / "case", traces={"unavailable": True})

    assert {"ev-1"} == {ref for claim in conclusion.claims for ref in claim.evidence_refs}


def test_each_tool_is_read_once_and_within_the_budget(tmp_path: Path) -> None:
    """The reads follow from what is already there; the budget ends them."""
    question = question_of(payment_case(tmp_path / "case"))
    done = Finding(evidence_id="e", kind="k", tool="search_logs@2", content={})
    small = question.model_copy(update={"budget": Budget(max_tool_calls=1)})

    assert ["search_logs@2", "read_trace@1"] == [
        call.tool for call in next_calls(question, ())
    ]
    assert ["read_trace@1"] == [call.tool for call in next_calls(question, (done,))]
    assert next_calls(small, (done,)) == ()


def test_nothing_kept_is_no_data(tmp_path: Path) -> None:
    """A system that keeps neither logs nor traces is told as such, not as a failure."""
    question = question_of(payment_case(tmp_path / "case"))
    findings = tuple(
        Finding(evidence_id="e", kind="k", tool=tool, error="NOT_KEPT logs")
        for tool in EVIDENCE
    )

    assert "no_data" == conclude(question, findings).status


def test_a_slow_wire_blames_the_callee() -> None:
    """A gap that many callers see belongs to the service they call."""
    found = from_traces(_traces(_shift("a", "x", 500), _shift("b", "x", 480)))

    assert {("x", "network_delay")} == {(each.service, each.type) for each in found}


def test_a_starved_caller_is_blamed_when_all_its_calls_wait() -> None:
    """Several callees slow for one caller only: the caller itself cannot run."""
    found = from_traces(_traces(_shift("a", "x", 90), _shift("a", "y", 80)))

    assert ("a", "cpu_contention") == max((e.score, e.service, e.type) for e in found)[1:]


@pytest.mark.parametrize(("calls", "sure"), [(1, False), (3, False), (5, True)])
def test_a_single_pause_is_no_trend(calls: int, *, sure: bool) -> None:
    """Few calls cannot carry a strong suspicion."""
    (found,) = from_traces(_traces(_shift("a", "x", 500, calls=calls)))

    assert sure == (found.score >= 0.5)


def test_a_cut_path_suspects_the_callee_before_the_caller() -> None:
    """Whoever answered last before the request ended is the first suspect."""
    cut = FlowBreak(
        service="front",
        place="request > call",
        kind="cut_short",
        before={"next": 20},
        after={"end": 20},
        strength=50,
        also=("catalog",),
    )
    found = from_traces(_traces(breaks=(cut,)))

    assert ["catalog", "front"] == [each.service for each in found]
    assert found[0].score > found[1].score
