"""The stage a person sees, and what one may do in it. Pure (USER-02, USER-03)."""

from collections.abc import Mapping
from typing import Any

from event_schemas.envelope import Envelope
from projections.case_view.cases import instant

State = Mapping[str, Any]

_OF_STATUS = {
    "blocked": "waiting_for_other_agent",
    "waiting_human": "waiting_for_human_confirmation",
    "consolidating": "merging_artifacts",
    "cancelling": "merging_artifacts",
    "needs_human": "needs_your_input",
    "failed": "failed",
    "cancelled": "cancelled",
}
_NOT_WHOLE = frozenset({"partial", "degraded", "blocked"})
OVER = frozenset(
    {"completed", "completed_degraded", "needs_your_input", "failed", "cancelled"}
)


def staged(state: dict[str, Any], envelope: Envelope) -> State:
    """Return *state* with its stage; a new stage names the event that led to it."""
    name = stage_of(state)
    before = state["stage"]
    if name is None or (before is not None and before["name"] == name):
        return state
    stage = {
        "name": name,
        "since": instant(envelope.time),
        "event_id": envelope.id,
        "can": can(name),
    }
    return {**state, "stage": stage}


def stage_of(state: State) -> str | None:
    """Return the stage of a run, None before there is one."""
    status = state["status"]
    if status is None:
        return None
    if status == "completed":
        if state["completion_id"] is None:
            return "merging_artifacts"
        partly = state["result_status"] in _NOT_WHOLE
        return "completed_degraded" if partly else "completed"
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    return "analysing" if state["claims"] else "collecting"


def can(stage: str) -> dict[str, bool]:
    """Say what a person may do in *stage*; no verb of ours adds material or cancels yet."""
    return {
        "add_material": False,
        "cancel": False,
        "view_products": stage != "collecting",
        "wait_for_notice": stage not in OVER,
    }
