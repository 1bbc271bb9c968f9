"""What a delegation may read: weighed before every call."""

from typing import Any

import pytest

from consumers.specialists.catalogue import BY_NAME
from consumers.specialists.grants import Spent, grant_for, reason_to_deny
from consumers.specialists.questions import ToolCall
from event_schemas.delegations import Delegation
from tests.support.specialist_desk import an_order

LOGS = BY_NAME["logs"]


def delegation(**changes: Any) -> Delegation:
    """Return the golden delegation with *changes*."""
    return an_order(delegation=changes).delegation


def call(tool: str = "search_logs@2", **arguments: Any) -> ToolCall:
    """Return a call of *tool*."""
    return ToolCall(tool=tool, arguments=arguments)


def code(asked: ToolCall, within: Delegation, spent: Spent | None = None) -> str | None:
    """Return the code of the refusal, None when the call may be made."""
    denial = reason_to_deny(asked, within, LOGS, spent or Spent())
    return denial.code if denial else None


@pytest.mark.parametrize(
    ("asked", "changes", "expected"),
    [
        (call(services=["payment-api"]), {}, None),
        (call(service="risk-gateway"), {}, None),
        (call(), {}, None),
        (call(services=["payment-api", "audit-db"]), {}, "SCOPE_EXCEEDED"),
        (call(service="audit-db"), {}, "SCOPE_EXCEEDED"),
        (call(abnormal_from="2026-07-23T01:45:00Z"), {}, None),
        (call(abnormal_from="2026-07-23T01:44:59Z"), {}, "SCOPE_EXCEEDED"),
        (call(baseline_until="2026-07-23T04:02:01+02:00"), {}, "SCOPE_EXCEEDED"),
        (call("rollback@1"), {}, "TOOL_NOT_ALLOWED"),
        (call("search_logs@1"), {}, "TOOL_NOT_ALLOWED"),
        (call("query_metrics@1"), {}, "TOOL_NOT_ALLOWED"),
        (call(), {"allowed_tools": ["read_trace@1"]}, "TOOL_NOT_ALLOWED"),
        (
            call(),
            {"allowed_evidence_kinds": ["trace_aggregate"]},
            "EVIDENCE_KIND_NOT_ALLOWED",
        ),
    ],
)
def test_a_call_is_weighed_against_the_grant(
    asked: ToolCall, changes: dict[str, Any], expected: str | None
) -> None:
    """Tool, kind of evidence, services and times must all be delegated (DEL-06)."""
    assert expected == code(asked, delegation(**changes))


def test_an_open_scope_allows_every_service() -> None:
    """A case nobody could place may be read as a whole, within its time range."""
    scope = {
        "services": ["*"],
        "time_range": ["2026-07-23T01:45:00Z", "2026-07-23T02:02:00Z"],
    }

    assert code(call(services=["anything"]), delegation(scope=scope)) is None
    assert () == grant_for(delegation(scope=scope), Spent(), None).services


@pytest.mark.parametrize(
    ("spent", "expected"),
    [
        (Spent(7, 99), None),
        (Spent(8, 0), "BUDGET_TOOL_CALLS"),
        (Spent(0, 100), "BUDGET_ROWS_SCANNED"),
        (Spent(0, 101), "BUDGET_ROWS_SCANNED"),
    ],
)
def test_a_spent_budget_ends_the_reads(spent: Spent, expected: str | None) -> None:
    """The runner's own count decides (BUD-02)."""
    budget = {"max_tool_calls": 8, "max_rows_scanned": 100}

    assert expected == code(call(), delegation(budget=budget), spent)


def test_the_grant_of_a_call_is_what_is_left() -> None:
    """The tool server hears of services, window, remaining rows and tools; of no tenant."""
    budget = {"max_tool_calls": 8, "max_rows_scanned": 100}
    grant = grant_for(delegation(budget=budget), Spent(1, 40), "/cases/1")

    assert ("task-1", ("payment-api", "risk-gateway"), 60, "/cases/1") == (
        grant.task_id,
        grant.services,
        grant.max_rows,
        grant.case_folder,
    )
    assert ("search_logs@2", "read_trace@1") == grant.tools
