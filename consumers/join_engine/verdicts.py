"""What the join says about one result: accepted, rejected, late, stale, at odds. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from consumers.join_engine import conflicts
from consumers.join_engine.acceptance import (
    Case,
    Digests,
    Refusal,
    known_evidence,
    parse,
    reason_to_reject,
)
from consumers.join_engine.reactions import CheckResult
from consumers.join_engine.state import JoinState, evolve
from event_schemas.artifacts import ArtifactRejected, ArtifactVerified
from event_schemas.joins import Conflict, ConflictRecorded, Expected, JoinContract
from event_schemas.payload import Payload
from event_schemas.results import (
    Result,
    ResultAccepted,
    ResultHashConflict,
    ResultLate,
    ResultRejected,
    ResultStale,
    ResultSubmitted,
)


@dataclass(slots=True)
class Draft:
    """Facts decided so far, and the state after them."""

    state: JoinState
    facts: list[Payload] = field(default_factory=list)

    def add(self, *facts: Payload) -> None:
        """Take *facts* as decided."""
        for fact in facts:
            self.facts.append(fact)
            self.state = evolve(self.state, fact)

    @property
    def contract(self) -> JoinContract:
        """The contract of the open join."""
        if self.state.contract is None:
            raise ValueError("the join is not open")
        return self.state.contract


def judge(draft: Draft, command: CheckResult, digests: Digests) -> Result | Refusal:
    """Return the result in its strict form, or why it is not acceptable."""
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


def verified(draft: Draft, task: str, result: Result) -> Iterable[ArtifactVerified]:
    """Yield the check of each artifact that an acceptable *result* cites."""
    for uri, content in _artifacts(result):
        yield ArtifactVerified(
            join_id=draft.contract.join_id,
            task_id=task,
            artifact_uri=uri,
            sha256=content,
        )


def accepted(
    draft: Draft, submitted: ResultSubmitted, result: Result, digests: Digests
) -> ResultAccepted:
    """Return the acceptance of *result*."""
    branch = draft.state.expected[submitted.task_id]
    return ResultAccepted(
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


def new_conflicts(draft: Draft) -> list[ConflictRecorded]:
    """Return the conflicts among accepted results that are not recorded yet."""
    return [
        ConflictRecorded(
            join_id=draft.contract.join_id, run_id=draft.state.run_id, conflict=conflict
        )
        for conflict in conflicts.find(draft.state.answers())
        if conflict.topic not in draft.state.topics
    ]


def broken_artifacts(
    draft: Draft, submitted: ResultSubmitted, digests: Digests, refusal: Refusal
) -> list[ArtifactRejected]:
    """Return the artifacts for which a result was refused, none when it was not for them."""
    result = parse(submitted)
    if refusal.check != "artifact" or isinstance(result, Refusal):
        return []
    return [
        ArtifactRejected(
            join_id=draft.contract.join_id,
            task_id=submitted.task_id,
            artifact_uri=uri,
            expected_sha256=content,
            found_sha256=digests.get(content),
            reason=refusal.reason,
        )
        for uri, content in _artifacts(result)
        if digests.get(content) != content
    ]


def rejected(
    draft: Draft, submitted: ResultSubmitted, digests: Digests, refusal: Refusal
) -> ResultRejected:
    """Return the refusal of an answer, with the check it failed."""
    branch = draft.state.expected[submitted.task_id]
    return ResultRejected(
        join_id=draft.contract.join_id,
        task_id=submitted.task_id,
        step_id=branch.step_id,
        specialist=branch.specialist,
        attempt=submitted.attempt,
        content_hash=submitted.content_hash,
        check=refusal.check,
        reason=refusal.reason,
        detail=refusal.detail,
        observed=dict(digests),
    )


def late(draft: Draft, command: CheckResult, digests: Digests) -> ResultLate:
    """Return what the contract makes of an answer that came after the join had closed."""
    submitted, contract = command.submitted, draft.contract
    branch = draft.state.expected[submitted.task_id]
    judged = judge(draft, command, digests)
    result = judged if isinstance(judged, Result) else None
    allowed = contract.late_result_policy == "append_new_revision"
    return ResultLate(
        join_id=contract.join_id,
        task_id=submitted.task_id,
        step_id=branch.step_id,
        specialist=branch.specialist,
        attempt=submitted.attempt,
        content_hash=submitted.content_hash,
        policy=contract.late_result_policy,
        merge=result is not None and allowed and draft.state.closed is not None,
        result=result,
        reason=judged.reason if isinstance(judged, Refusal) else None,
        conflicts=_conflicts_with(draft, branch, result) if result else (),
        observed=dict(digests),
    )


def stale(draft: Draft, submitted: ResultSubmitted) -> ResultStale:
    """Return that an answer belongs to an earlier plan."""
    return ResultStale(
        join_id=draft.contract.join_id,
        task_id=submitted.task_id,
        plan_version=submitted.plan_version,
        current_plan_version=draft.state.plan_version,
        content_hash=submitted.content_hash,
    )


def hash_conflict(draft: Draft, submitted: ResultSubmitted) -> ResultHashConflict:
    """Return that a second, different answer came to a task already answered."""
    task, state = submitted.task_id, draft.state
    first = state.accepted.get(task) or state.merged[task]
    return ResultHashConflict(
        join_id=draft.contract.join_id,
        task_id=submitted.task_id,
        step_id=first.step_id,
        specialist=first.specialist,
        accepted_hash=first.content_hash,
        other_hash=submitted.content_hash,
    )


def _artifacts(result: Result) -> list[tuple[str, str]]:
    return sorted({(e.artifact_uri, e.content_hash) for e in result.evidence})


def _conflicts_with(draft: Draft, branch: Expected, late: Result) -> tuple[Conflict, ...]:
    return conflicts.find(
        [*draft.state.answers(), (branch.step_id, branch.specialist, late)]
    )
