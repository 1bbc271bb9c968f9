"""From a closed join to the judgement: report, escalations, completion. Pure.

Built from accepted results only; conflicts are shown, never smoothed (JOIN-07, CONF-02).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from consumers.supervisor.ranking import Cause as RankedCause
from consumers.supervisor.ranking import VerdictName, rank
from consumers.supervisor.state import RunState
from consumers.supervisor.wording import advice, impact, status_text, summary
from event_schemas.delegations import DelegationCompleted
from event_schemas.joins import Conflict, JoinClosed, Outcome
from event_schemas.payload import Json
from event_schemas.results import Claim, Result, ResultLate
from event_schemas.runs import (
    Cause,
    ConflictEscalated,
    IncidentStarted,
    Report,
    ReportPublished,
    RunCompleted,
)

RESULT_STATUS: dict[Outcome, str] = {
    "COMPLETE": "completed",
    "COMPLETE_WITH_REVIEW_REQUIRED": "completed",
    "PARTIAL_EVIDENCE": "partial",
    "INSUFFICIENT_EVIDENCE": "blocked",
    "CONFLICT_REQUIRES_HUMAN": "blocked",
}
TERMINATION = {"completed": "success", "partial": "partial", "blocked": "waiting"}


@dataclass(frozen=True, slots=True)
class Judged:
    """What the supervisor publishes when the join has closed."""

    published: ReportPublished
    escalated: tuple[ConflictEscalated, ...]
    completed: RunCompleted


def judge(state: RunState, closed: JoinClosed) -> Judged:
    """Return report revision 1, the escalations and the completion of the run."""
    started = state.started
    if started is None:
        raise ValueError("a run is judged after it started")
    report = _report(state, 1, closed.conflicts, closed.missing_evidence_types)
    report = report.model_copy(update={"dependent": closed.dependent_specialists})
    if closed.outcome == "INSUFFICIENT_EVIDENCE":
        report = report.model_copy(update={"verdict": "inconclusive"})
    to = started.observed.content["escalate_to"]
    escalated = tuple(
        ConflictEscalated(run_id=started.run_id, to=to, conflict=each)
        for each in closed.conflicts
    )
    published = ReportPublished(run_id=started.run_id, report=report)
    return Judged(published, escalated, _completed(started, closed, report))


def _completed(
    started: IncidentStarted, closed: JoinClosed, report: Report
) -> RunCompleted:
    result_status = RESULT_STATUS[closed.outcome]
    needs_human = closed.outcome == "CONFLICT_REQUIRES_HUMAN"
    return RunCompleted(
        run_id=started.run_id,
        case_id=started.case_id,
        kind=started.kind,
        tenant=started.tenant,
        environment=started.environment,
        group=started.group,
        owner=started.owner,
        status="needs_human" if needs_human else "completed",
        result_status=result_status,
        outcome=closed.outcome,
        termination_reason=TERMINATION[result_status],
        recommended_action=closed.recommended_action,
        side_effect="none",
        report=report,
        deadline_at=started.deadline_at,
    )


def revise(state: RunState, late: ResultLate) -> Report:
    """Return the next revision of the report, with the late result in it (LATE-03)."""
    if state.report is None or late.result is None:
        raise ValueError("a revision needs a report and a usable result")
    earlier = {name: _merged(state, name, result) for name, result in state.late.items()}
    ended = {
        **state.ended,
        **earlier,
        late.task_id: _merged(state, late.task_id, late.result),
    }
    seen = RunState(started=state.started, tasks=state.tasks, ended=ended)
    lacking = _missing_types(state, ended)
    report = _report(seen, state.report.revision + 1, late.conflicts, lacking)
    note = f"{late.specialist}: came after the join closed, policy {late.policy}"
    kept = {"dependent": state.report.dependent, "late": (*state.report.late, note)}
    return report.model_copy(update=kept)


def _merged(state: RunState, task_id: str, result: Result) -> DelegationCompleted:
    task = state.tasks[task_id]
    return DelegationCompleted(
        task_id=task_id,
        run_id=task.run_id,
        step_id=task.step_id,
        specialist=task.delegation.specialist_id,
        status="completed",
        result_status=result.status,
        summary=result.summary,
        claims=result.claims,
        evidence=result.evidence,
        missing_evidence=result.missing_evidence,
        warnings=result.warnings,
    )


def _missing_types(
    state: RunState, ended: dict[str, DelegationCompleted]
) -> tuple[str, ...]:
    if state.plan is None:
        return ()
    have = {
        k
        for e in ended.values()
        for evidence in e.evidence
        for k in evidence.supports_types
    }
    wanted = state.plan.join.minimum_completion.required_evidence_types
    return tuple(kind for kind in wanted if kind not in have)


def _report(
    state: RunState, revision: int, conflicts: Sequence[Conflict], lacking: Sequence[str]
) -> Report:
    ended = [state.ended[task] for task in state.tasks if task in state.ended]
    claims = [claim for each in ended for claim in each.claims]
    verdict = rank([claim.model_dump(mode="json") for claim in claims])
    causes = tuple(_cause(each, claims) for each in verdict.causes)
    named: VerdictName = "inconclusive" if lacking else verdict.verdict
    return Report(
        revision=revision,
        verdict=named,
        status=status_text(state, lacking),
        summary=summary(causes, named, ended),
        impact=impact(claims),
        causes=causes,
        confidence=verdict.confidence,
        conflicts=tuple(conflicts),
        missing=_missing(state, ended, lacking),
        warnings=tuple(w for each in ended for w in each.warnings),
        advice=advice(conflicts, lacking, ended),
        claim_ids=tuple(claim.claim_id for claim in claims),
    )


def _missing(
    state: RunState, ended: Sequence[DelegationCompleted], lacking: Sequence[str]
) -> tuple[str, ...]:
    gaps = [gap for each in ended for gap in each.missing_evidence]
    failed = [
        f"{each.specialist}: {each.reason}" for each in ended if each.status != "completed"
    ]
    silent = [
        f"{state.tasks[task].delegation.specialist_id}: no result"
        for task in state.open_tasks()
    ]
    return (*gaps, *failed, *silent, *(f"evidence type {kind}" for kind in lacking))


def _cause(found: RankedCause, claims: Sequence[Claim]) -> Cause:
    said = {claim.claim_id: claim.statement for claim in claims}
    document: dict[str, Json] = {
        "service": found.service,
        "category": found.category,
        "type": found.type,
        "score": found.score,
        "onset": found.onset,
        "change_ref": dict(found.change_ref) if found.change_ref else None,
        "claim_ids": found.claim_ids,
        "why": next((said[name] for name in found.claim_ids if name in said), ""),
    }
    return Cause.model_validate(document, strict=False)
