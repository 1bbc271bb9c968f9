"""The join engine decides: open, admit or reject, keep conflicts, close in time. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from consumers.join_engine import conflicts
from consumers.join_engine.acceptance import (
    Case,
    Digests,
    Refusal,
    known_evidence,
    parse,
    reason_to_reject,
)
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
from event_schemas.artifacts import ArtifactRejected, ArtifactVerified
from event_schemas.joins import (
    Conflict,
    ConflictRecorded,
    Expected,
    JoinContract,
    JoinOpened,
)
from event_schemas.payload import Payload
from event_schemas.plans import PlanAccepted
from event_schemas.results import (
    TIMEOUT,
    Result,
    ResultAccepted,
    ResultHashConflict,
    ResultLate,
    ResultParked,
    ResultRejected,
    ResultStale,
    ResultSubmitted,
)

__all__ = ["decide", "evolve", "initial"]


@dataclass(slots=True)
class _Draft:
    """Facts decided so far, and the state after them."""

    state: JoinState
    facts: list[Payload] = field(default_factory=list)

    def add(self, fact: Payload) -> None:
        self.facts.append(fact)
        self.state = evolve(self.state, fact)

    @property
    def contract(self) -> JoinContract:
        if self.state.contract is None:
            raise ValueError("the join is not open")
        return self.state.contract


def decide(
    state: JoinState,
    command: JoinCommand,
    observed: Digests | None,
    now: datetime,
) -> Sequence[Payload]:
    """Return the facts that follow from *command*."""
    draft = _Draft(state)
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


def _open(draft: _Draft, plan: PlanAccepted) -> None:
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


def _check(draft: _Draft, command: CheckResult, digests: Digests) -> None:
    submitted, state = command.submitted, draft.state
    task, content = submitted.task_id, submitted.content_hash
    if content in state.hashes.get(task, frozenset()):
        return
    if state.contract is not None and submitted.plan_version < state.plan_version:
        draft.add(_stale(draft, submitted))
    elif task not in state.expected:
        _park(draft, command, digests)
    elif task in state.accepted:
        draft.add(_hash_conflict(draft, submitted))
    elif state.closed is not None or task in state.failed:
        draft.add(_late(draft, command, digests))
    else:
        _admit(draft, command, digests)


def _judge(draft: _Draft, command: CheckResult, digests: Digests) -> Result | Refusal:
    result = parse(command.submitted)
    if isinstance(result, Refusal):
        return result
    case = Case(
        result=result,
        expected=draft.state.expected[command.submitted.task_id],
        tenant=command.tenant,
        digests=digests,
        known_evidence=known_evidence(draft.state),
        strict_prefixes=draft.contract.strict_evidence_prefixes,
    )
    return reason_to_reject(case) or result


def _admit(draft: _Draft, command: CheckResult, digests: Digests) -> None:
    submitted = command.submitted
    judged = _judge(draft, command, digests)
    branch = draft.state.expected[submitted.task_id]
    if isinstance(judged, Refusal):
        for rejected in _broken_artifacts(draft, submitted, digests, judged):
            draft.add(rejected)
        draft.add(
            ResultRejected(
                join_id=draft.contract.join_id,
                task_id=submitted.task_id,
                step_id=branch.step_id,
                specialist=branch.specialist,
                attempt=submitted.attempt,
                content_hash=submitted.content_hash,
                check=judged.check,
                reason=judged.reason,
                detail=judged.detail,
                observed=dict(digests),
            )
        )
    else:
        _accept(draft, submitted, judged, digests)
    _close_when_due(draft)


def _accept(
    draft: _Draft, submitted: ResultSubmitted, result: Result, digests: Digests
) -> None:
    branch = draft.state.expected[submitted.task_id]
    for uri, content in sorted({(e.artifact_uri, e.content_hash) for e in result.evidence}):
        draft.add(
            ArtifactVerified(
                join_id=draft.contract.join_id,
                task_id=submitted.task_id,
                artifact_uri=uri,
                sha256=content,
            )
        )
    draft.add(
        ResultAccepted(
            join_id=draft.contract.join_id,
            task_id=submitted.task_id,
            step_id=branch.step_id,
            specialist=branch.specialist,
            plan_version=submitted.plan_version,
            attempt=submitted.attempt,
            content_hash=submitted.content_hash,
            state_version=len(draft.state.accepted) + 1,
            result=result,
            observed=dict(digests),
        )
    )
    accepted = [(r.step_id, r.specialist, r.result) for r in draft.state.accepted.values()]
    for conflict in conflicts.find(accepted):
        if conflict.topic not in draft.state.topics:
            draft.add(
                ConflictRecorded(
                    join_id=draft.contract.join_id,
                    run_id=draft.state.run_id,
                    conflict=conflict,
                )
            )


def _broken_artifacts(
    draft: _Draft, submitted: ResultSubmitted, digests: Digests, refusal: Refusal
) -> list[ArtifactRejected]:
    result = parse(submitted)
    if refusal.check != "artifact" or isinstance(result, Refusal):
        return []
    pairs = sorted({(e.artifact_uri, e.content_hash) for e in result.evidence})
    return [
        ArtifactRejected(
            join_id=draft.contract.join_id,
            task_id=submitted.task_id,
            artifact_uri=uri,
            expected_sha256=content,
            found_sha256=digests.get(content),
            reason=refusal.reason,
        )
        for uri, content in pairs
        if digests.get(content) != content
    ]


def _late(draft: _Draft, command: CheckResult, digests: Digests) -> ResultLate:
    submitted, contract = command.submitted, draft.contract
    branch = draft.state.expected[submitted.task_id]
    judged = _judge(draft, command, digests)
    allowed = contract.late_result_policy == "append_new_revision"
    merge = isinstance(judged, Result) and allowed and draft.state.closed is not None
    return ResultLate(
        join_id=contract.join_id,
        task_id=submitted.task_id,
        step_id=branch.step_id,
        specialist=branch.specialist,
        attempt=submitted.attempt,
        content_hash=submitted.content_hash,
        policy=contract.late_result_policy,
        merge=merge,
        result=judged if isinstance(judged, Result) else None,
        reason=None if isinstance(judged, Result) else judged.reason,
        conflicts=_conflicts_with(draft, branch, judged)
        if isinstance(judged, Result)
        else (),
        observed=dict(digests),
    )


def _conflicts_with(draft: _Draft, branch: Expected, late: Result) -> tuple[Conflict, ...]:
    accepted = [(r.step_id, r.specialist, r.result) for r in draft.state.accepted.values()]
    return conflicts.find([*accepted, (branch.step_id, branch.specialist, late)])


def _stale(draft: _Draft, submitted: ResultSubmitted) -> ResultStale:
    return ResultStale(
        join_id=draft.contract.join_id,
        task_id=submitted.task_id,
        plan_version=submitted.plan_version,
        current_plan_version=draft.state.plan_version,
        content_hash=submitted.content_hash,
    )


def _hash_conflict(draft: _Draft, submitted: ResultSubmitted) -> ResultHashConflict:
    first = draft.state.accepted[submitted.task_id]
    return ResultHashConflict(
        join_id=draft.contract.join_id,
        task_id=submitted.task_id,
        step_id=first.step_id,
        specialist=first.specialist,
        accepted_hash=first.content_hash,
        other_hash=submitted.content_hash,
    )


def _park(draft: _Draft, command: CheckResult, digests: Digests) -> None:
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


def _fail(draft: _Draft, task: str, check: str, reason: str) -> None:
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


def _close_when_due(draft: _Draft) -> None:
    reason = reason_to_close(draft.state, draft.contract)
    if reason is not None:
        _close(draft, reason)


def _close(draft: _Draft, reason: Reason) -> None:
    if draft.state.contract is not None and draft.state.closed is None:
        draft.add(conclude(draft.state, draft.contract, reason))
