"""How a judgement reads: how far it got, what is proven, what to do next."""

from typing import Any

import pytest

from consumers.supervisor import decider as supervisor
from consumers.supervisor.state import RunState
from consumers.supervisor.wording import advice, impact, short, status_text, summary
from event_schemas.delegations import DelegationCompleted
from event_schemas.joins import Conflict
from event_schemas.payload import Payload
from event_schemas.plans import PlanAccepted
from event_schemas.results import Claim
from event_schemas.runs import Cause
from tests.support.builders import a_claim, a_started_run, task_of
from tests.support.given import state_of


def ended(step: str, result_status: str, **changes: Any) -> DelegationCompleted:
    """Return the end of the delegation of *step*."""
    plan = next(fact for fact in a_started_run() if isinstance(fact, PlanAccepted))
    base = {
        "task_id": task_of(plan, step),
        "run_id": "r",
        "step_id": step,
        "specialist": step,
        "status": "completed",
        "result_status": result_status,
    }
    return DelegationCompleted.model_validate({**base, **changes}, strict=False)


def after(*ends: Payload) -> RunState:
    """Return the state of a run whose delegations came to *ends*."""
    state = state_of(supervisor, *a_started_run(), *ends)
    assert isinstance(state, RunState)
    return state


ALL = (ended("logs", "completed"), ended("changes", "no_data"))


@pytest.mark.parametrize(
    ("ends", "lacking", "text"),
    [
        ((*ALL, ended("metrics", "completed")), (), "complete assessment (3/3 complete)"),
        (
            (*ALL, ended("metrics", "partial")),
            (),
            "stage assessment (2/3 complete, metric partial)",
        ),
        (
            (*ALL, ended("metrics", "failed")),
            ("impact_metric",),
            "insufficient evidence (2/3 complete, metric failed)",
        ),
        (ALL, (), "stage assessment (2/3 complete, metric missing)"),
        ((), ("x",), "insufficient evidence (0/3 complete, log missing, metric missing, security missing)"),
    ],
)  # fmt: skip
def test_the_status_says_how_far_it_got(
    ends: tuple[Payload, ...], lacking: tuple[str, ...], text: str
) -> None:
    """JOIN-12, JOIN-26: what is unfinished is named, in the order of the plan."""
    assert text == status_text(after(*ends), lacking)


def test_a_specialist_has_an_everyday_name() -> None:
    """The first word of its agent id; one that is in no playbook keeps its own."""
    assert ["log", "metric", "security", "other"] == [
        short(name, after()) for name in ("logs", "metrics", "changes", "other")
    ]
    assert "logs" == short("logs", RunState())


def test_the_impact_is_what_claims_say_or_unproven() -> None:
    """S1-a: without an impact claim the report says so."""
    said = a_claim(1, key="impact", statement="99.6 % to 93.1 %")
    claims = [Claim.model_validate(each, strict=False) for each in (said, a_claim(2))]

    assert ("99.6 % to 93.1 %",) == impact(claims)
    assert ("impact unproven",) == impact(claims[1:])


def a_cause(number: int, service: str = "api") -> Cause:
    """Return a ranked cause."""
    document = {
        "service": service,
        "category": "code",
        "type": f"type-{number}",
        "score": 0.9,
        "claim_ids": ["c"],
        "why": "because",
    }
    return Cause.model_validate(document, strict=False)


@pytest.mark.parametrize(
    ("verdict", "head"),
    [
        ("root_cause", "Strongest candidate: api type-1 (because)."),
        ("inconclusive", "The evidence does not single out a cause; candidates: api"),
        ("no_fault", "No fault shown by the evidence; weak candidates: api"),
    ],
)
def test_the_summary_begins_with_the_verdict(verdict: str, head: str) -> None:
    """USER-09: a reader knows after a few words how sure the judgement is."""
    assert summary([a_cause(1)], verdict, []).startswith(head)


def test_the_summary_names_three_causes_and_every_specialist() -> None:
    """The rest is in the report; nameless services and silence stay readable."""
    causes = [a_cause(1, ""), a_cause(2), a_cause(3), a_cause(4)]
    ends = [ended("logs", "completed", summary="read"), ended("metrics", "completed")]
    text = summary(causes, "root_cause", ends)

    assert "unnamed type-1 (because); api type-2 (because); api type-3 (because)." in text
    assert "type-4" not in text
    assert text.endswith("[logs] read")
    assert "none." in summary([], "no_fault", [])


def a_conflict(*subjects: str | None) -> Conflict:
    """Return a conflict about *subjects*, each with a value of its own."""
    claims = [
        {"claim_id": f"c{n}", "value": f"v{n}", "subject": each, "specialist": "s", "evidence_refs": ["e"]}
        for n, each in enumerate(subjects)
    ]  # fmt: skip
    document = {"topic": "primary_cause", "claims": claims, "next_query": "compare"}
    return Conflict.model_validate(document, strict=False)


def test_advice_settles_conflicts_and_fills_gaps() -> None:
    """S1: the dependency trace between two services, evidence to request, no rollback."""
    gaps = [ended("metrics", "partial", missing_evidence=["other regions"])]
    lines = advice([a_conflict("payment-api", "risk-gateway")], ["impact_metric"], gaps)

    assert (
        "query the risk-gateway→payment-api dependency trace: primary_cause is unresolved (v0 or v1)",
        "request evidence: impact_metric",
        "obtain other regions",
        "no automatic rollback",
        "any change goes to R3 two-person approval",
    ) == lines


@pytest.mark.parametrize("subjects", [("api", "api"), (None, None), ("api", None)])
def test_a_conflict_about_one_service_asks_its_next_query(
    subjects: tuple[str | None, ...],
) -> None:
    """CONF-01, CONF-02: both values are in the advice, and the word unresolved."""
    line = advice([a_conflict(*subjects)], [], [])[0]

    assert "compare: primary_cause is unresolved (v0 or v1)" == line
