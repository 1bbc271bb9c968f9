"""Whether a result may enter the join: the first failing check is named, in a fixed order."""

from typing import Any

import pytest

from consumers.join_engine import decider as join
from consumers.join_engine.reactions import CheckResult, OpenJoin
from event_schemas.artifacts import ArtifactRejected, ArtifactVerified
from event_schemas.payload import Payload
from event_schemas.plans import PlanAccepted
from event_schemas.results import ResultAccepted, ResultRejected
from tests.support.builders import (
    a_claim,
    a_piece,
    a_plan,
    a_submission,
    all_intact,
)
from tests.support.given import given

WINDOW = ["2026-07-23T01:45:00Z", "2026-07-23T02:02:00Z"]


def log_piece(**changes: Any) -> dict[str, Any]:
    """Return the log evidence of S1 with *changes*."""
    return a_piece("ev-log-41", "log_aggregate", "causal_signal", **changes)


def scope(**changes: Any) -> dict[str, Any]:
    """Return log evidence whose scope has *changes*."""
    whole = {"tenant": "prod-cn", "services": ["payment-api"], "time_range": WINDOW}
    return log_piece(scope={**whole, **changes})


def answered(
    plan: PlanAccepted, *, digests: dict[str, str | None] | None = None, **changes: Any
) -> list[Payload]:
    """Return what the join says to the answer of the log specialist with *changes*."""
    opened = given(join)(OpenJoin(plan))
    submitted = a_submission(plan, "logs", **changes)
    seen = all_intact(submitted) if digests is None else digests
    return given(join, *opened)(CheckResult(submitted, "prod-cn", "event-1"), seen)


def with_evidence(*evidence: dict[str, Any]) -> dict[str, Any]:
    """Return changes after which the answer rests on *evidence* alone."""
    refs = [each["evidence_id"] for each in evidence]
    return {"evidence": list(evidence), "claims": [a_claim(1, evidence_refs=refs)]}


CHECKS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no claims field": ({"claims": None}, "schema", "SCHEMA_INVALID"),
    "a foreign field": ({"tenant_id": "t"}, "schema", "SCHEMA_INVALID"),
    "completed without a claim": ({"claims": []}, "schema", "SCHEMA_INVALID"),
    "an unknown status": ({"status": "fine"}, "schema", "SCHEMA_INVALID"),
    "partial without a gap": ({"status": "partial"}, "schema", "SCHEMA_INVALID"),
    "failed without a code": ({"status": "failed"}, "schema", "SCHEMA_INVALID"),
    "a number as text": (
        {"claims": [a_claim(1, confidence="0.5")]},
        "schema",
        "SCHEMA_INVALID",
    ),
    "a claim without evidence": (
        {"claims": [a_claim(1, evidence_refs=[])]},
        "schema",
        "SCHEMA_INVALID",
    ),
    "confidence above one": (
        {"claims": [a_claim(1, confidence=1.1)]},
        "schema",
        "SCHEMA_INVALID",
    ),
    "evidence without a hash": (
        {"evidence": [{**log_piece(), "content_hash": None}]},
        "schema",
        "SCHEMA_INVALID",
    ),
    "another task": ({"task_id": "other"}, "task", "TASK_MISMATCH"),
    "another specialist": (
        {"agent_id": "metric-analyst@1"},
        "specialist",
        "SPECIALIST_MISMATCH",
    ),
    "another version": (
        {"agent_id": "log-investigator@4"},
        "specialist",
        "SPECIALIST_MISMATCH",
    ),
    "failed": ({"status": "failed", "error_code": "SOURCE_AWAY"}, "status", "SOURCE_AWAY"),
    "blocked": ({"status": "blocked"}, "status", "BLOCKED"),
    "nobody's evidence": (
        {"claims": [a_claim(1, evidence_refs=["ev-9"])]},
        "claims",
        "CLAIM_WITHOUT_EVIDENCE",
    ),
    "a foreign tenant": (
        with_evidence(scope(tenant="other")),
        "evidence",
        "EVIDENCE_FOREIGN_TENANT",
    ),
    "a log viewer": (
        with_evidence(log_piece(artifact_uri="https://logs/view?id=1")),
        "evidence",
        "EVIDENCE_NOT_FROZEN",
    ),
    "another kind": (
        with_evidence(a_piece("ev-1", "metric_series", "impact_metric")),
        "evidence",
        "EVIDENCE_OUT_OF_BOUNDARY",
    ),
    "another service": (
        with_evidence(scope(services=["payment-api", "stock"])),
        "evidence",
        "EVIDENCE_SCOPE",
    ),
    "an earlier time": (
        with_evidence(scope(time_range=["2026-07-23T01:44:59Z", WINDOW[1]])),
        "evidence",
        "EVIDENCE_SCOPE",
    ),
    "a later time": (
        with_evidence(scope(time_range=[WINDOW[0], "2026-07-23T02:02:01Z"])),
        "evidence",
        "EVIDENCE_SCOPE",
    ),
    "a time backwards": (
        with_evidence(scope(time_range=[WINDOW[1], WINDOW[0]])),
        "evidence",
        "EVIDENCE_SCOPE",
    ),
    "a uri of other bytes": (
        with_evidence(log_piece(artifact_uri=f"artifact://sha256/{'0' * 64}")),
        "artifact",
        "ARTIFACT_HASH_MISMATCH",
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_result_that_fails_a_check_is_rejected_for_it(name: str) -> None:
    """JOIN-01, JOIN-06, RES-06, CLM-01, EVI-05, EVI-09, EVI-10: one fixture per check."""
    changes, check, reason = CHECKS[name]
    rejected = answered(a_plan(), **changes)[-1]

    assert isinstance(rejected, ResultRejected)
    assert (check, reason) == (rejected.check, rejected.reason)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("another task", "another specialist"),
        ("another specialist", "failed"),
        ("failed", "nobody's evidence"),
        ("nobody's evidence", "a foreign tenant"),
    ],
)
def test_of_several_failing_checks_the_first_is_named(earlier: str, later: str) -> None:
    """JOIN-01: the order of the checks is fixed, so the reason is the same every time."""
    changes = {**CHECKS[later][0], **CHECKS[earlier][0]}
    rejected = answered(a_plan(), **changes)[-1]

    assert isinstance(rejected, ResultRejected)
    assert CHECKS[earlier][2] == rejected.reason


def test_a_result_that_passes_is_accepted_with_its_artifacts() -> None:
    """JOIN-06, EVI-06: what was seen is stored with the decision, artifact by artifact."""
    facts = answered(a_plan())

    verified = [fact for fact in facts if isinstance(fact, ArtifactVerified)]
    [accepted] = [fact for fact in facts if isinstance(fact, ResultAccepted)]
    assert {fact.sha256 for fact in verified} == set(accepted.observed)
    assert ("logs", 1) == (accepted.specialist, accepted.state_version)


@pytest.mark.parametrize(
    ("found", "reason"), [("f" * 64, "ARTIFACT_HASH_MISMATCH"), (None, "ARTIFACT_MISSING")]
)
def test_changed_or_missing_bytes_keep_a_result_out(found: str | None, reason: str) -> None:
    """EVI-06, S1-g: only the artifact that is broken is rejected, and so is the result."""
    submitted = a_submission(a_plan(), "logs")
    good = all_intact(submitted)
    broken = next(iter(good))
    artifact, result = answered(a_plan(), digests={**good, broken: found})

    assert isinstance(artifact, ArtifactRejected)
    assert (broken, found, reason) == (
        artifact.expected_sha256,
        artifact.found_sha256,
        artifact.reason,
    )
    assert isinstance(result, ResultRejected)
    assert ("artifact", reason) == (result.check, result.reason)


def test_what_was_not_looked_up_counts_as_missing() -> None:
    """The decision rests on what was observed, never on what might be there."""
    rejected = answered(a_plan(), digests={})[-1]

    assert isinstance(rejected, ResultRejected)
    assert "ARTIFACT_MISSING" == rejected.reason


def test_a_run_without_named_services_may_cite_any() -> None:
    """An alert outside the directory opens every service to read-only questions."""
    plan = a_plan().model_copy(update={"services": ("*",)})
    facts = answered(plan, **with_evidence(scope(services=["anything"])))

    assert isinstance(facts[-1], ResultAccepted)


@pytest.mark.parametrize(
    ("prefix", "kind"), [("logs.", ResultAccepted), ("traces.", ResultRejected)]
)
def test_strict_prefixes_bound_the_sources(prefix: str, kind: type[Payload]) -> None:
    """EVI-04: where the contract says so, evidence from outside the prefixes is refused."""
    plan = a_plan(strict_evidence_prefixes=True)
    steps_in = tuple(
        step.model_copy(update={"evidence_prefixes": (prefix,)}) for step in plan.steps
    )
    plan = plan.model_copy(update={"steps": steps_in})
    facts = answered(plan, **with_evidence(log_piece(source="logs.payment_prod")))

    assert isinstance(facts[-1], kind)


def test_an_answer_may_cite_evidence_of_an_accepted_one() -> None:
    """AMB-34: what is in the report already may be cited; before that it is nobody's."""
    plan = a_plan()
    cites: dict[str, Any] = {"claims": [a_claim(1, evidence_refs=["ev-metric-07"])]}
    history = given(join)(OpenJoin(plan))
    metric = a_submission(plan, "metrics")
    history += given(join, *history)(
        CheckResult(metric, "prod-cn", "event-2"), all_intact(metric)
    )
    logs = a_submission(plan, "logs", **cites)
    after = given(join, *history)(CheckResult(logs, "prod-cn", "e"), all_intact(logs))

    assert any(isinstance(fact, ResultAccepted) for fact in after)
    assert isinstance(answered(plan, **cites)[-1], ResultRejected)


def test_a_result_that_is_not_what_was_hashed_is_rejected() -> None:
    """Idempotency rests on the hash, so the join counts it again (JOIN-10)."""
    plan = a_plan()
    opened = given(join)(OpenJoin(plan))
    forged = a_submission(plan, "logs").model_copy(update={"content_hash": "0" * 64})

    facts = given(join, *opened)(CheckResult(forged, "prod-cn", "event-1"), {})

    [rejected] = [fact for fact in facts if isinstance(fact, ResultRejected)]
    assert ("hash", "CONTENT_HASH_MISMATCH") == (rejected.check, rejected.reason)
