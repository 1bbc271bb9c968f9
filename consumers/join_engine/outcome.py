"""What a join amounts to: threshold, independence, outcome. Pure (JOIN-02 to JOIN-05)."""

from collections.abc import Sequence
from typing import Literal

from consumers.join_engine import conflicts
from consumers.join_engine.state import JoinState
from event_schemas.joins import JoinClosed, JoinContract, Outcome
from event_schemas.results import TIMEOUT, ResultAccepted

Reason = Literal[
    "all_satisfied",
    "quorum_satisfied",
    "first_valid",
    "deadline",
    "cancelled",
    "all_terminal",
]
ACTIONS: dict[Outcome, str] = {
    "COMPLETE": "continue_read_only_review",
    "COMPLETE_WITH_REVIEW_REQUIRED": "route_to_human_reviewer",
    "PARTIAL_EVIDENCE": "continue_read_only_review",
    "INSUFFICIENT_EVIDENCE": "request_missing_evidence",
    "CONFLICT_REQUIRES_HUMAN": "route_to_human_reviewer",
}


def reason_to_close(state: JoinState, contract: JoinContract) -> Reason | None:
    """Return why the join may close now, None while it has to wait."""
    if contract.strategy == "first_valid" and state.accepted:
        return "first_valid"
    if contract.strategy == "quorum" and _threshold_met(state, contract):
        return "quorum_satisfied"
    if state.open_tasks():
        return None
    if TIMEOUT in state.failed.values():
        return "deadline"
    return "all_terminal" if state.failed else "all_satisfied"


def conclude(state: JoinState, contract: JoinContract, reason: Reason) -> JoinClosed:
    """Return the decision of the join as it stands."""
    accepted = _in_plan_order(state)
    found = conflicts.find([(r.step_id, r.specialist, r.result) for r in accepted])
    missing_required = tuple(
        branch.specialist
        for task, branch in state.expected.items()
        if branch.step_id in contract.required_steps and task not in state.accepted
    )
    outcome = _outcome(state, contract, conflict=bool(found), lacks=bool(missing_required))
    return JoinClosed(
        join_id=contract.join_id,
        run_id=state.run_id,
        contract_version=contract.version,
        reason=reason,
        outcome=outcome,
        recommended_action=ACTIONS[outcome],
        accepted_specialists=tuple(each.specialist for each in accepted),
        failed_specialists=_names(state, [t for t in state.expected if t in state.failed]),
        missing_specialists=_names(
            state,
            [
                t
                for t in state.expected
                if t not in state.accepted and t not in state.failed
            ],
        ),
        missing_required_specialists=missing_required,
        missing_evidence_types=_missing_types(state, contract),
        partial_specialists=tuple(
            each.specialist for each in accepted if each.result.status == "partial"
        ),
        dependent_specialists=tuple(
            tuple(each.specialist for each in group)
            for group in independent_groups(accepted)
            if len(group) > 1
        ),
        conflicts=found,
        quorum_met=_threshold_met(state, contract),
        state_version=len(state.accepted),
    )


def independent_groups(accepted: Sequence[ResultAccepted]) -> list[list[ResultAccepted]]:
    """Return *accepted* grouped: results on the same bytes for the same type are one (EVI-07)."""
    groups: list[tuple[set[tuple[str, str]], list[ResultAccepted]]] = []
    for result in accepted:
        support = _support(result)
        if not support:
            continue
        touching = [group for group in groups if group[0] & support]
        joined = [member for group in touching for member in group[1]]
        keys = support.union(*(group[0] for group in touching))
        groups = [group for group in groups if group not in touching]
        groups.append((keys, [*joined, result]))
    return [members for _, members in groups]


def _support(result: ResultAccepted) -> set[tuple[str, str]]:
    """Evidence type and content hash of what the result's claims rest on."""
    cited = {ref for claim in result.result.claims for ref in claim.evidence_refs}
    return {
        (kind, evidence.content_hash)
        for evidence in result.result.evidence
        if evidence.evidence_id in cited and evidence.quality == "passed"
        for kind in evidence.supports_types
    }


def _threshold_met(state: JoinState, contract: JoinContract) -> bool:
    enough = (
        len(independent_groups(_in_plan_order(state))) >= contract.minimum_completion.count
    )
    return enough and not _missing_types(state, contract)


def _missing_types(state: JoinState, contract: JoinContract) -> tuple[str, ...]:
    have = {kind for each in state.accepted.values() for kind, _ in _support(each)}
    wanted = contract.minimum_completion.required_evidence_types
    return tuple(kind for kind in wanted if kind not in have)


def _outcome(
    state: JoinState, contract: JoinContract, *, conflict: bool, lacks: bool
) -> Outcome:
    if conflict and contract.conflict_policy == "block_and_escalate":
        return "CONFLICT_REQUIRES_HUMAN"
    if lacks or not _threshold_met(state, contract):
        return "INSUFFICIENT_EVIDENCE"
    whole = len(state.accepted) == len(state.expected)
    if contract.strategy == "all" and not whole:
        return "INSUFFICIENT_EVIDENCE"
    partial = any(each.result.status == "partial" for each in state.accepted.values())
    if partial or (not whole and contract.strategy == "timeout_partial"):
        return "PARTIAL_EVIDENCE"
    return "COMPLETE"


def _in_plan_order(state: JoinState) -> list[ResultAccepted]:
    return [state.accepted[task] for task in state.expected if task in state.accepted]


def _names(state: JoinState, tasks: Sequence[str]) -> tuple[str, ...]:
    return tuple(state.expected[task].specialist for task in tasks)
