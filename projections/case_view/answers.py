"""The working part of the view: delegations, their answers, claims with evidence. Pure.

A submitted answer is any JSON until the join has checked it: what cannot be read as a result
shows no claims, and nothing counts as accepted before the join says so.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from event_schemas.delegations import (
    DelegationAccepted,
    DelegationCompleted,
    DelegationCreated,
    DelegationDispatched,
    DelegationRejected,
    LeaseAcquired,
    LeaseExpired,
)
from event_schemas.envelope import Envelope
from event_schemas.results import (
    Claim,
    Evidence,
    Result,
    ResultAccepted,
    ResultLate,
    ResultRejected,
    ResultSubmitted,
)
from projections.case_view.cases import Change, instant

State = Mapping[str, Any]


def _created(state: State, _: Envelope, fact: DelegationCreated) -> dict[str, Any]:
    asked = fact.delegation
    entry: dict[str, Any] = {
        "task_id": fact.task_id,
        "step_id": fact.step_id,
        "specialist": asked.specialist_id,
        "goal": asked.goal,
        "status": "created",
        "result_status": None,
        "attempts": 0,
        "deadline_at": instant(asked.deadline_at),
        "summary": "",
        "reason": None,
        "missing_evidence": [],
    }
    return {"delegations": [*state["delegations"], entry]}


def _moves(status: str) -> Change:
    """Return the change of a delegation that is not over yet to *status*."""

    def moved(state: State, _: Envelope, fact: Any) -> dict[str, Any]:  # noqa: ANN401
        def move(entry: dict[str, Any]) -> dict[str, Any]:
            attempts = max(entry["attempts"], getattr(fact, "attempt", 0))
            open_still = entry["status"] in {"created", "assigned", "accepted", "working"}
            return {"status": status, "attempts": attempts} if open_still else {}

        return _on_task(state, fact.task_id, move)

    return moved


def _completed(state: State, _: Envelope, fact: DelegationCompleted) -> dict[str, Any]:
    return _on_task(
        state,
        fact.task_id,
        lambda _: {
            "status": fact.status,
            "result_status": fact.result_status,
            "summary": fact.summary,
            "reason": fact.reason,
            "missing_evidence": list(fact.missing_evidence),
        },
    )


def _on_task(
    state: State, task_id: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    delegations = [
        {**entry, **change(entry)} if entry["task_id"] == task_id else entry
        for entry in state["delegations"]
    ]
    return {"delegations": delegations}


def _submitted(state: State, _: Envelope, fact: ResultSubmitted) -> dict[str, Any]:
    if any(c["task_id"] == fact.task_id and c["accepted"] for c in state["claims"]):
        return {}
    try:
        result = Result.model_validate(fact.result, strict=False)
    except ValidationError:
        return {}
    return with_claims(state, fact.task_id, result, "submitted")


def _accepted(state: State, _: Envelope, fact: ResultAccepted) -> dict[str, Any]:
    return with_claims(state, fact.task_id, fact.result, "accepted")


def _rejected(state: State, _: Envelope, fact: ResultRejected) -> dict[str, Any]:
    claims = [
        {**claim, "state": "rejected"}
        if claim["task_id"] == fact.task_id and not claim["accepted"]
        else claim
        for claim in state["claims"]
    ]
    return {"claims": claims}


def _late(state: State, _: Envelope, fact: ResultLate) -> dict[str, Any]:
    if fact.result is None:
        return {}
    return with_claims(state, fact.task_id, fact.result, "late")


def with_claims(
    state: State, task_id: str, result: Result, standing: str
) -> dict[str, Any]:
    """Return the claims with those of *task_id* replaced by what *result* says."""
    evidence = {each.evidence_id: each for each in result.evidence}
    specialist = _specialist(state, task_id) or result.agent_id
    new = [
        {
            "claim_id": claim.claim_id,
            "task_id": task_id,
            "specialist": specialist,
            "key": claim.key,
            "value": claim.value,
            "subject": claim.subject,
            "statement": claim.statement,
            "confidence": claim.confidence,
            "accepted": standing == "accepted",
            "state": standing,
            "evidence": list(_cited(claim, evidence)),
        }
        for claim in result.claims
    ]
    others = [claim for claim in state["claims"] if claim["task_id"] != task_id]
    return {"claims": [*others, *new]}


def _cited(claim: Claim, evidence: Mapping[str, Evidence]) -> Iterable[dict[str, Any]]:
    for name in claim.evidence_refs:
        found = evidence.get(name)
        yield {
            "evidence_id": name,
            "kind": found.kind if found else None,
            "uri": found.artifact_uri if found else None,
            "sha256": found.content_hash if found else None,
        }


def _specialist(state: State, task_id: str) -> str | None:
    for entry in state["delegations"]:
        if entry["task_id"] == task_id:
            return str(entry["specialist"])
    return None


CHANGES: dict[type, Change] = {
    DelegationCreated: _created,
    DelegationDispatched: _moves("assigned"),
    DelegationAccepted: _moves("accepted"),
    DelegationRejected: _moves("rejected"),
    LeaseAcquired: _moves("working"),
    LeaseExpired: _moves("accepted"),
    DelegationCompleted: _completed,
    ResultSubmitted: _submitted,
    ResultAccepted: _accepted,
    ResultRejected: _rejected,
    ResultLate: _late,
}
