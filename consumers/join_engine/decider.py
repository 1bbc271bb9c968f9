"""The join engine decides: open, admit or reject, keep conflicts, close in time. Pure."""

from collections.abc import Sequence
from datetime import datetime

from consumers.join_engine import verdicts
from consumers.join_engine.acceptance import Digests, Refusal
from consumers.join_engine.outcome import Reason, conclude, reason_to_close
from consumers.join_engine.reactions import (
    CheckResult,
    CloseJoin,
    ExpireBranch,
    FailBranch,
    JoinCommand,
    OpenJoin,
)
from consumers.join_engine.state import JoinState, evolve, initial
from consumers.join_engine.verdicts import Draft
from event_schemas.joins import Expected, JoinOpened
from event_schemas.payload import Payload
from event_schemas.plans import PlanAccepted
from event_schemas.results import TIMEOUT, ResultParked, ResultRejected

__all__ = ["decide", "evolve", "initial"]


def decide(
    state: JoinState,
    command: JoinCommand,
    observed: Digests | None,
    now: datetime,
) -> Sequence[Payload]:
    """Return the facts that follow from *command*."""
    draft = Draft(state)
    match command:
        case OpenJoin():
            _open(draft, command.plan)
        case CheckResult():
            _check(draft, command, observed or {})
        case FailBranch():
            _fail(draft, command.task_id, "order", command.reason)
        case ExpireBranch():
            _fail(draft, command.task_id, "deadline", TIMEOUT)
        case CloseJoin():
            _close(draft, "deadline")
    return draft.facts


def _open(draft: Draft, plan: PlanAccepted) -> None:
    if draft.state.contract is not None:
        return
    draft.add(
        JoinOpened(
            join_id=plan.join.join_id,
            run_id=plan.run_id,
            plan_version=plan.version,
            contract=plan.join,
            expected=tuple(
                Expected(
                    step_id=step.step_id,
                    task_id=step.task_id,
                    specialist=step.specialist,
                    agent_id=step.agent_id,
                    evidence_prefixes=step.evidence_prefixes,
                    evidence_kinds=step.evidence_kinds,
                    scope_start=plan.window_start,
                    scope_end=plan.window_end,
                    services=plan.services,
                )
                for step in plan.steps
            ),
        )
    )
    for parked in draft.state.parked:
        command = CheckResult(parked.submitted, parked.tenant, parked.submitted_event)
        _check(draft, command, parked.observed)


def _check(draft: Draft, command: CheckResult, digests: Digests) -> None:
    submitted, state = command.submitted, draft.state
    task, content = submitted.task_id, submitted.content_hash
    if content in state.hashes.get(task, frozenset()):
        return
    if state.contract is not None and submitted.plan_version < state.plan_version:
        draft.add(verdicts.stale(draft, submitted))
    elif task not in state.expected:
        _park(draft, command, digests)
    elif task in state.accepted or task in state.merged:
        draft.add(verdicts.hash_conflict(draft, submitted))
    elif state.closed is not None or task in state.failed:
        draft.add(verdicts.late(draft, command, digests))
    else:
        _admit(draft, command, digests)


def _admit(draft: Draft, command: CheckResult, digests: Digests) -> None:
    submitted = command.submitted
    judged = verdicts.judge(draft, command, digests)
    if isinstance(judged, Refusal):
        draft.add(*verdicts.broken_artifacts(draft, submitted, digests, judged))
        draft.add(verdicts.rejected(draft, submitted, digests, judged))
    else:
        draft.add(*verdicts.verified(draft, submitted.task_id, judged))
        draft.add(verdicts.accepted(draft, submitted, judged, digests))
        draft.add(*verdicts.new_conflicts(draft))
    _close_when_due(draft)


def _park(draft: Draft, command: CheckResult, digests: Digests) -> None:
    submitted = command.submitted
    name = (submitted.task_id, submitted.content_hash)
    waiting = {(p.submitted.task_id, p.submitted.content_hash) for p in draft.state.parked}
    if name not in waiting:
        draft.add(
            ResultParked(
                task_id=submitted.task_id,
                submitted=submitted,
                submitted_event=command.event_id,
                tenant=command.tenant,
                observed=dict(digests),
            )
        )


def _fail(draft: Draft, task: str, check: str, reason: str) -> None:
    branch = draft.state.expected.get(task)
    if branch is None or draft.state.terminal(task) or draft.state.closed is not None:
        return
    draft.add(
        ResultRejected(
            join_id=draft.contract.join_id,
            task_id=task,
            step_id=branch.step_id,
            specialist=branch.specialist,
            attempt=0,
            content_hash=None,
            check=check,
            reason=reason,
            detail="no result came"
            if reason == TIMEOUT
            else "the specialist refused the order",
        )
    )
    _close_when_due(draft)


def _close_when_due(draft: Draft) -> None:
    reason = reason_to_close(draft.state, draft.contract)
    if reason is not None:
        _close(draft, reason)


def _close(draft: Draft, reason: Reason) -> None:
    if draft.state.contract is not None and draft.state.closed is None:
        draft.add(conclude(draft.state, draft.contract, reason))
