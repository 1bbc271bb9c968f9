"""What a join amounts to: strategies, thresholds, independence, precedence, conflicts."""

from typing import Any

import pytest

from consumers.join_engine import conflicts
from consumers.join_engine import decider as join
from consumers.join_engine.outcome import ACTIONS
from consumers.join_engine.reactions import CheckResult, CloseJoin, ExpireBranch, OpenJoin
from event_schemas.joins import JoinClosed
from event_schemas.payload import Payload
from event_schemas.plans import PlanAccepted
from event_schemas.results import Result
from tests.support.builders import (
    a_claim,
    a_piece,
    a_plan,
    a_submission,
    all_intact,
    an_answer,
    task_of,
)
from tests.support.given import given

Answers = dict[str, dict[str, Any] | None]
SAME = "0" * 64
STEPS = ("logs", "metrics", "changes")


def after(plan: PlanAccepted, answers: Answers, *, over: bool = True) -> list[Payload]:
    """Return all facts once *answers* (None: silent) came in their order, and time is over."""
    facts = given(join)(OpenJoin(plan))
    for step, changes in answers.items():
        if changes is None:
            facts += given(join, *facts)(ExpireBranch(task_of(plan, step)))
            continue
        submitted = a_submission(plan, step, **changes)
        command = CheckResult(submitted, "prod-cn", "e")
        facts += given(join, *facts)(command, all_intact(submitted))
    return facts + (given(join, *facts)(CloseJoin("j")) if over else [])


def closed(plan: PlanAccepted, answers: Answers, *, over: bool = True) -> JoinClosed:
    """Return the conclusion of *plan* after *answers*."""
    found = [
        fact for fact in after(plan, answers, over=over) if isinstance(fact, JoinClosed)
    ]
    return found[0]


def shared(name: str, kind: str, supports: str, **more: Any) -> dict[str, Any]:
    """Return evidence on the same bytes as every other shared piece."""
    return a_piece(name, kind, supports, digest=SAME, **more)


WHOLE = {"status": "completed", "missing_evidence": []}
FOUND_NOTHING = {"status": "no_data", "claims": [], "evidence": []}
FAILED = {"status": "failed", "error_code": "SOURCE_AWAY"}
OUTCOMES: dict[str, tuple[dict[str, Any], Answers, str]] = {
    "all three whole": (
        {},
        {"logs": {}, "metrics": WHOLE, "changes": FOUND_NOTHING},
        "COMPLETE",
    ),
    "one partial": ({}, {"logs": {}, "metrics": {}, "changes": {}}, "PARTIAL_EVIDENCE"),
    "one failed": (
        {},
        {"logs": {}, "metrics": WHOLE, "changes": FAILED},
        "PARTIAL_EVIDENCE",
    ),
    "one silent": ({}, {"logs": {}, "metrics": WHOLE}, "PARTIAL_EVIDENCE"),
    "no impact": ({}, {"logs": {}, "changes": {}}, "INSUFFICIENT_EVIDENCE"),
    "no cause": ({}, {"metrics": WHOLE}, "INSUFFICIENT_EVIDENCE"),
    "nothing": ({}, {}, "INSUFFICIENT_EVIDENCE"),
    "a required one failed": (
        {"required": ("changes",)},
        {"logs": {}, "metrics": WHOLE, "changes": FAILED},
        "INSUFFICIENT_EVIDENCE",
    ),
    "all, one partial": (
        {"strategy": "all"},
        {"logs": {}, "metrics": {}, "changes": {}},
        "PARTIAL_EVIDENCE",
    ),
    "all, one failed": (
        {"strategy": "all"},
        {"logs": {}, "metrics": WHOLE, "changes": FAILED},
        "INSUFFICIENT_EVIDENCE",
    ),
    "a blocking conflict": (
        {"conflict_policy": "block_and_escalate"},
        {"logs": {}, "metrics": WHOLE, "changes": {}},
        "CONFLICT_REQUIRES_HUMAN",
    ),
    "a blocking conflict and no impact": (
        {"conflict_policy": "block_and_escalate"},
        {"logs": {}, "changes": {}},
        "CONFLICT_REQUIRES_HUMAN",
    ),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcomes_follow_their_precedence(name: str) -> None:
    """JOIN-02, JOIN-03, JOIN-04: conflict, then missing, then partial, then complete."""
    contract, answers, outcome = OUTCOMES[name]
    decision = closed(a_plan(**contract), answers)

    assert outcome == decision.outcome
    assert ACTIONS[decision.outcome] == decision.recommended_action


def test_a_preserved_conflict_does_not_lower_the_outcome() -> None:
    """JCON-06: under preserve_and_escalate both claims are kept, and the join is complete."""
    decision = closed(a_plan(), {"logs": {}, "metrics": WHOLE, "changes": {}})

    assert ("COMPLETE", 1) == (decision.outcome, len(decision.conflicts))


def test_the_decision_names_everybody() -> None:
    """JOIN-05, JOIN-26: accepted, failed, missing and partial, in the order of the plan."""
    decision = closed(a_plan(), {"metrics": {}, "logs": FAILED})

    assert ("metrics",) == decision.accepted_specialists
    assert ("logs",) == decision.failed_specialists
    assert ("changes",) == decision.missing_specialists
    assert ("metrics",) == decision.partial_specialists
    assert ("causal_signal",) == decision.missing_evidence_types
    assert not decision.quorum_met


def test_a_missing_required_specialist_is_named() -> None:
    """JOIN-05: what was required and did not come."""
    decision = closed(a_plan(required=("logs", "metrics")), {"metrics": {}, "changes": {}})

    assert ("logs",) == decision.missing_required_specialists
    assert "INSUFFICIENT_EVIDENCE" == decision.outcome


def test_the_decision_names_its_contract() -> None:
    """JCON-09: id and version of the contract it was made under."""
    decision = closed(a_plan(), {})

    assert ("join-incident-evidence-v1", 1) == (decision.join_id, decision.contract_version)


@pytest.mark.parametrize(
    ("strategy", "answers", "reason"),
    [
        ("first_valid", {"logs": FAILED, "changes": {}}, "first_valid"),
        ("quorum", {"logs": {}, "metrics": {}}, "quorum_satisfied"),
        ("timeout_partial", {"logs": {}, "metrics": {}, "changes": {}}, "all_satisfied"),
        ("all", {"logs": {}, "metrics": {}, "changes": {}}, "all_satisfied"),
        ("timeout_partial", {"logs": {}, "metrics": {}, "changes": FAILED}, "all_terminal"),
        ("timeout_partial", {"logs": {}, "metrics": None, "changes": {}}, "deadline"),
    ],
)
def test_a_strategy_closes_as_soon_as_it_may(
    strategy: str, answers: Answers, reason: str
) -> None:
    """JCON-04, JOIN-14: one table row per strategy, before any join deadline."""
    assert reason == closed(a_plan(strategy=strategy), answers, over=False).reason


@pytest.mark.parametrize(
    ("strategy", "answers"),
    [
        ("first_valid", {"logs": FAILED}),
        ("quorum", {"logs": {}, "changes": {}}),
        ("timeout_partial", {"logs": {}, "metrics": {}}),
        ("all", {"logs": {}, "metrics": {}}),
    ],
)
def test_a_strategy_waits_for_what_it_needs(strategy: str, answers: Answers) -> None:
    """JCON-08, JOIN-13: nothing closes early, faster invalid results do not win."""
    facts = after(a_plan(strategy=strategy), answers, over=False)

    assert not [fact for fact in facts if isinstance(fact, JoinClosed)]


ONE_SOURCE: Answers = {
    "logs": {"evidence": [shared("ev-log-41", "log_aggregate", "causal_signal"),
                          a_piece("ev-trace-09", "trace_aggregate", "causal_signal")]},
    "changes": {"evidence": [shared("ev-change-12", "change_record", "causal_signal")]},
}  # fmt: skip


def test_two_results_on_the_same_bytes_count_once() -> None:
    """S1-h, EVI-07, JOIN-13: with the metric it is two, without it one; dependence is named."""
    whole = closed(a_plan(), {**ONE_SOURCE, "metrics": {}})
    without = closed(a_plan(), ONE_SOURCE)

    assert ("PARTIAL_EVIDENCE", True) == (whole.outcome, whole.quorum_met)
    assert (("logs", "changes"),) == whole.dependent_specialists
    assert ("INSUFFICIENT_EVIDENCE", False) == (without.outcome, without.quorum_met)


def test_the_same_bytes_for_another_type_are_independent() -> None:
    """One artifact may show the impact and the cause: these are two findings."""
    logs = {"evidence": [shared("ev-log-41", "log_aggregate", "causal_signal")],
            "claims": [a_claim(1, evidence_refs=["ev-log-41"])]}  # fmt: skip
    metrics = {"evidence": [shared("ev-metric-07", "metric_series", "impact_metric")]}
    decision = closed(a_plan(), {"logs": logs, "metrics": metrics})

    assert ((), True) == (decision.dependent_specialists, decision.quorum_met)


def test_dependence_is_transitive() -> None:
    """Two results that share nothing are one when a third rests on the bytes of both."""
    first, second = "1" * 64, "2" * 64
    bridge = [
        a_piece("ev-metric-07", "metric_series", "impact_metric"),
        a_piece("ev-m-1", "metric_series", "causal_signal", digest=first),
        a_piece("ev-m-2", "metric_series", "causal_signal", digest=second),
    ]
    cites = [a_claim(1, key="impact", evidence_refs=["ev-metric-07", "ev-m-1", "ev-m-2"])]
    answers: Answers = {
        "logs": {
            "evidence": [a_piece("ev-l", "log_aggregate", "causal_signal", digest=first)],
            "claims": [a_claim(1, evidence_refs=["ev-l"])],
        },
        "changes": {
            "evidence": [a_piece("ev-c", "change_record", "causal_signal", digest=second)],
            "claims": [a_claim(1, evidence_refs=["ev-c"])],
        },
        "metrics": {"evidence": bridge, "claims": cites},
    }
    decision = closed(a_plan(), answers)

    assert {"logs", "changes", "metrics"} == set(decision.dependent_specialists[0])
    assert "INSUFFICIENT_EVIDENCE" == decision.outcome


@pytest.mark.parametrize("quality", ["failed", "unknown"])
def test_evidence_of_no_quality_meets_no_minimum(quality: str) -> None:
    """EVI-08: it is accepted as what it is, and supports nothing."""
    metrics = {"evidence": [
        a_piece("ev-metric-07", "metric_series", "impact_metric", quality=quality)
    ]}  # fmt: skip
    decision = closed(a_plan(), {"logs": {}, "metrics": metrics, "changes": {}})

    assert ("impact_metric",) == decision.missing_evidence_types
    assert "INSUFFICIENT_EVIDENCE" == decision.outcome


def test_evidence_that_no_claim_cites_supports_nothing() -> None:
    """EVI-11: a type counts when a claim rests on it."""
    metrics = {**FOUND_NOTHING, "evidence": [
        a_piece("ev-metric-07", "metric_series", "impact_metric")
    ]}  # fmt: skip
    decision = closed(a_plan(), {"logs": {}, "metrics": metrics, "changes": {}})

    assert ("impact_metric",) == decision.missing_evidence_types


def test_a_partial_metric_result_still_shows_the_impact() -> None:
    """AMB-08: one accepted piece of impact evidence is enough, however partial the rest."""
    decision = closed(a_plan(), {"logs": {}, "metrics": {}, "changes": {}})

    assert () == decision.missing_evidence_types


def test_confidence_does_not_vote() -> None:
    """CLM-03: a surer producer changes neither outcome nor conflict."""
    surer = [a_claim(1, value="risk_rule_change", subject="risk-gateway", confidence=1.0,
                     claim_id="claim-sec-08", evidence_refs=["ev-change-12"])]  # fmt: skip
    plain = closed(a_plan(), {step: {} for step in STEPS})
    sure = closed(a_plan(), {"logs": {}, "metrics": {}, "changes": {"claims": surer}})

    assert plain == sure


def told(*claims: dict[str, Any], step: str = "logs") -> tuple[str, str, Result]:
    """Return an accepted answer that holds *claims*."""
    document = an_answer("t", step, claims=list(claims))
    return step, step, Result.model_validate(document, strict=False)


def test_equal_claims_do_not_conflict() -> None:
    """CONF-01: the same value about the same subject is agreement."""
    assert () == conflicts.find([told(a_claim(1)), told(a_claim(2), step="changes")])


@pytest.mark.parametrize(
    "other", [{"value": "something_else"}, {"subject": "risk-gateway"}]
)
def test_another_value_or_subject_conflicts(other: dict[str, Any]) -> None:
    """CONF-01, CONF-02: both sides are kept with their evidence, unresolved."""
    [found] = conflicts.find([told(a_claim(1)), told(a_claim(2, **other), step="changes")])

    assert ("primary_cause", "unresolved", "fact") == (
        found.topic,
        found.resolution,
        found.kind,
    )
    assert {("ev-1",), ("ev-2",)} == {claim.evidence_refs for claim in found.claims}


def test_claims_of_one_answer_can_conflict() -> None:
    """A specialist that contradicts itself is shown, not smoothed."""
    assert 1 == len(conflicts.find([told(a_claim(1), a_claim(2, value="other"))]))


def test_a_topic_without_a_known_query_gets_one() -> None:
    """CONF-01: every conflict names the next query."""
    [found] = conflicts.find(
        [told(a_claim(1, key="onset"), a_claim(2, key="onset", value=2))]
    )

    assert "compare_evidence_of_onset" == found.next_query


def test_conflicts_do_not_depend_on_the_order_of_answers() -> None:
    """JOIN-09: topics and sides stand in a fixed order."""
    one = told(a_claim(1), a_claim(3, key="onset", value=1))
    two = told(a_claim(2, value="other"), a_claim(4, key="onset", value=2), step="changes")

    assert conflicts.find([one, two]) == conflicts.find([two, one])
