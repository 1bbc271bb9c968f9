"""From a conclusion to the submitted result, and from an answer to evidence."""

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest

from consumers.specialists.catalogue import BY_NAME
from consumers.specialists.evidence import (
    Reading,
    evidence_of,
    fingerprint,
    frozen_form,
)
from consumers.specialists.questions import Claim, Conclusion, Finding, ToolCall
from consumers.specialists.results import Gathered, failed, result_of, submitted
from event_schemas.payload import canonical
from event_schemas.results import Evidence, Result, Usage
from tests.support.specialist_desk import an_order

LOGS = BY_NAME["logs"]
AT = datetime(2026, 7, 23, 2, 2, 30, tzinfo=UTC)
SEARCH = ToolCall(tool="search_logs@2", arguments={"services": ["payment-api"]})


def a_claim(number: int) -> Claim:
    """Return claim *number* of an analyst."""
    return Claim(
        claim_id=f"x-{number}",
        key="primary_cause",
        value="pool",
        statement="the pool ran dry",
        confidence=0.8,
        evidence_refs=("ev-log-1",),
    )


def a_conclusion(**changes: Any) -> Conclusion:
    """Return a completed conclusion with one claim."""
    values = {"status": "completed", "summary": "found", "claims": (a_claim(1),), **changes}
    return Conclusion(**values)


def a_finding(error: str | None) -> Finding:
    """Return a finding that ended in *error*."""
    return Finding(evidence_id="", kind="", tool="search_logs@2", error=error)


def result(conclusion: Conclusion, **gathered: Any) -> Result:
    """Return the result of *conclusion*."""
    values = {
        "findings": (),
        "evidence": (),
        "over_budget": (),
        "usage": Usage(),
        **gathered,
    }
    return result_of(conclusion, Gathered(**values), "task-1", LOGS)


def an_evidence(rows: int = 10, call: ToolCall = SEARCH) -> Evidence:
    """Return the evidence of an answer with so many rows."""
    tool = LOGS.tool("search_logs@2")
    assert tool is not None
    reading = Reading(
        call, tool, "call-1", "ev-log-1", AT, "a" * 64, "artifact://sha256/x", rows
    )
    return evidence_of(reading, an_order().delegation, "prod-cn")


def test_claims_are_numbered_by_specialist() -> None:
    """Claim ids tell who says it, and in which order."""
    made = result(a_conclusion(claims=(a_claim(1), a_claim(2))))

    assert ["claim-log-1", "claim-log-2"] == [claim.claim_id for claim in made.claims]
    assert ("log-investigator@3", "task-1") == (made.agent_id, made.task_id)


@pytest.mark.parametrize("status", ["completed", "no_data", "partial"])
def test_a_refused_budget_makes_the_result_partial(status: str) -> None:
    """What was left unread is named, whatever the analyst thought (BUD-02, RES-05)."""
    made = result(
        a_conclusion(status=status), over_budget=("search_logs@2: BUDGET_TOOL_CALLS",)
    )

    assert "partial" == made.status
    assert ("search_logs@2: BUDGET_TOOL_CALLS",) == made.missing_evidence


def test_missing_access_blocks() -> None:
    """When nothing could be read for lack of a right, the result says which (DEL-09)."""
    conclusion = a_conclusion(status="failed", claims=(), error_code="X_Y")
    made = result(conclusion, findings=(a_finding("ACCESS_DENIED logs"),))

    assert ("blocked", "ACCESS_DENIED") == (made.status, made.error_code)
    assert ("access: search_logs@2",) == made.missing_evidence


def test_a_source_that_is_away_is_a_failure() -> None:
    """Only a missing right blocks; a broken source fails."""
    conclusion = a_conclusion(status="failed", claims=(), error_code="RATE_LIMITED")
    findings = (a_finding("ACCESS_DENIED logs"), a_finding("RATE_LIMITED logs"))

    assert "failed" == result(conclusion, findings=findings).status


def test_artifacts_are_those_of_the_evidence() -> None:
    """Each cited artifact is listed once."""
    made = result(a_conclusion(), evidence=(an_evidence(), an_evidence()))

    assert ("artifact://sha256/x",) == made.artifacts


def test_a_failed_result_has_its_code() -> None:
    """A failure is structured and has no claims (RES-06)."""
    made = failed(an_order(), LOGS, "ANALYST_FAILED", "the analyst failed")

    assert ("failed", "ANALYST_FAILED", ()) == (made.status, made.error_code, made.claims)


def test_the_hash_is_that_of_the_canonical_document() -> None:
    """Equal answers have equal hashes, whatever the order of their fields (LATE-08)."""
    one = submitted(an_order(), 1, {"a": 1, "b": "ü"})
    two = submitted(an_order(), 2, {"b": "ü", "a": 1})

    assert one.content_hash == two.content_hash
    assert sha256(canonical({"a": 1, "b": "ü"})).hexdigest() == one.content_hash
    assert ("logs", 1) == (one.step_id, one.plan_version)


def test_evidence_carries_every_field() -> None:
    """Evidence says how it was obtained, and for whom (EVI-01)."""
    made = an_evidence()

    assert ("logs.prod-cn", "passed", AT, ("causal_signal",)) == (
        made.source,
        made.quality,
        made.observed_at,
        made.supports_types,
    )
    assert an_order().delegation.scope.time_range == made.scope.time_range
    assert ("payment-api",) == made.scope.services
    assert an_order().delegation.trace_id == made.trace_id


def test_an_empty_answer_supports_nothing() -> None:
    """A read without any record is kept as evidence, but proves no type (EVI-11)."""
    assert () == an_evidence(rows=0).supports_types


def test_a_read_of_everything_covers_the_delegated_services() -> None:
    """A call that names no service read those of the delegation."""
    made = an_evidence(call=ToolCall(tool="search_logs@2"))

    assert ("payment-api", "risk-gateway") == made.scope.services


def test_a_question_has_one_fingerprint() -> None:
    """The same tool and arguments give the same fingerprint, others another."""
    same = ToolCall(tool="search_logs@2", arguments={"services": ["payment-api"]})
    other = ToolCall(tool="search_logs@2", arguments={"services": ["risk-gateway"]})

    assert fingerprint(SEARCH) == fingerprint(same) != fingerprint(other)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"a": ["ü", 1, None]}, {"a": ["ü", 1, None]}),
        ({"a\x00": {"b": ["c\x00"]}}, {"a\ufffd": {"b": ["c\ufffd"]}}),
        ({"a": "x\ud800y"}, {"a": "x?y"}),
        ({"a": "\\u0000"}, {"a": "\\u0000"}),
    ],
)
def test_frozen_bytes_can_always_be_carried(content: Any, expected: Any) -> None:
    """Text that no message can carry is replaced; the bytes are those of what is used."""
    clean, data = frozen_form(content)

    assert expected == clean
    assert canonical(expected) == data
