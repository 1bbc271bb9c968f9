"""What one delegation may read: weighed before every call, and carried beside it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from consumers.specialists.capabilities import CatalogueEntry
from consumers.specialists.onset import instant
from consumers.specialists.questions import ToolCall
from consumers.specialists.tool_grant import GrantWindow, ToolGrant
from event_schemas.delegations import Delegation

ALLOWED = "WITHIN_GRANT"
TOOL_NOT_ALLOWED = "TOOL_NOT_ALLOWED"
EVIDENCE_KIND_NOT_ALLOWED = "EVIDENCE_KIND_NOT_ALLOWED"
SCOPE_EXCEEDED = "SCOPE_EXCEEDED"
BUDGET_TOOL_CALLS = "BUDGET_TOOL_CALLS"
BUDGET_ROWS_SCANNED = "BUDGET_ROWS_SCANNED"
BUDGET = frozenset({BUDGET_TOOL_CALLS, BUDGET_ROWS_SCANNED})
ANY = "*"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a delegation has used so far, as the runner counts it (BUD-02, RES-12)."""

    calls: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a call may not be made: a stable code, and a word for people."""

    code: str
    detail: str


def reason_to_deny(
    call: ToolCall, delegation: Delegation, entry: CatalogueEntry, spent: Spent
) -> Denial | None:
    """Return why *call* is outside what was delegated, None when it may be made (DEL-06)."""
    tool = entry.tool(call.tool)
    if tool is None or call.tool not in delegation.allowed_tools:
        return Denial(TOOL_NOT_ALLOWED, f"{call.tool} is not among the tools of this task")
    if tool.kind not in delegation.allowed_evidence_kinds:
        return Denial(EVIDENCE_KIND_NOT_ALLOWED, f"{tool.kind} is not asked for")
    return _out_of_scope(call, delegation) or _out_of_budget(delegation, spent)


def _out_of_scope(call: ToolCall, delegation: Delegation) -> Denial | None:
    allowed = set(delegation.scope.services)
    foreign = [] if ANY in allowed else sorted(set(services_of(call)) - allowed)
    if foreign:
        return Denial(SCOPE_EXCEEDED, f"service {', '.join(foreign)[:200]}")
    start, end = delegation.scope.time_range
    if any(not start <= at <= end for at in _times_of(call)):
        return Denial(SCOPE_EXCEEDED, "a time outside the delegated range")
    return None


def _out_of_budget(delegation: Delegation, spent: Spent) -> Denial | None:
    budget = delegation.budget
    if spent.calls >= budget.max_tool_calls:
        return Denial(BUDGET_TOOL_CALLS, f"{budget.max_tool_calls} calls are used up")
    if spent.rows >= budget.max_rows_scanned:
        return Denial(BUDGET_ROWS_SCANNED, f"{budget.max_rows_scanned} rows are used up")
    return None


def services_of(call: ToolCall) -> list[str]:
    """Return the services that the arguments of *call* name."""
    named = call.arguments.get("services", call.arguments.get("service"))
    values = named if isinstance(named, list) else [named]
    return [value for value in values if isinstance(value, str) and value]


def _times_of(call: ToolCall) -> Iterator[datetime]:
    for value in call.arguments.values():
        at = instant(value)
        if at is not None:
            yield at


def named_services(delegation: Delegation) -> tuple[str, ...]:
    """Return the services of the scope; none stands for all of them."""
    services = delegation.scope.services
    return () if ANY in services else services


def grant_for(delegation: Delegation, spent: Spent, case_folder: str | None) -> ToolGrant:
    """Return what the tool server may read for the next call of *delegation*."""
    start, end = delegation.scope.time_range
    return ToolGrant(
        task_id=delegation.delegation_task_id,
        services=named_services(delegation),
        window=GrantWindow(start=start, end=end),
        max_rows=delegation.budget.max_rows_scanned - spent.rows,
        case_folder=case_folder or "",
        tools=delegation.allowed_tools,
    )
