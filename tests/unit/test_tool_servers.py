"""The tool servers' door: scope, limits, read-only, bounded answers."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer

from consumers.specialists.changes import tool_server as change_tools
from consumers.specialists.logs import tool_server as log_tools
from consumers.specialists.metrics import tool_server as metric_tools
from consumers.specialists.questions import ToolCall
from consumers.specialists.sources.opened import case_folders
from consumers.specialists.tool_grant import GrantWindow, ToolGrant, meta_of
from tests.support.case_folders import END, FIRED, SERVICES, START, payment_case
from tests.support.offline import call_tool

BUILDERS = {
    "logs": log_tools.build,
    "metrics": metric_tools.build,
    "changes": change_tools.build,
}
COMPARED = ("search_logs@2", "read_trace@1", "query_metrics@1")


def _server(tool: str) -> Callable[..., MCPServer]:
    if tool in ("search_logs@2", "read_trace@1"):
        return log_tools.build
    return metric_tools.build if tool == "query_metrics@1" else change_tools.build


def _arguments(tool: str, **more: Any) -> dict[str, Any]:
    sides = {
        "baseline_until": (FIRED - timedelta(minutes=3)).isoformat(),
        "abnormal_from": FIRED.isoformat(),
    }
    return {"services": list(SERVICES), **(sides if tool in COMPARED else {}), **more}


async def _call(folder: Path, tool: str, meta: Any = None, **more: Any) -> tuple[str, Any]:
    grant = ToolGrant(
        task_id="t",
        services=SERVICES,
        window=GrantWindow(start=START, end=END),
        case_folder=str(folder),
        max_rows=more.pop("max_rows", 500_000),
        tools=more.pop("tools", ()),
    )
    call = ToolCall(tool=tool, arguments=_arguments(tool, **more))
    async with Client(_server(tool)(case_folders())) as client:
        carried = meta_of(grant) if meta is None else meta
        found = await call_tool(client, call, carried, number=1)
    return found.error or "", found.content


@pytest.mark.parametrize("tool", [*COMPARED, "list_changes@1"])
async def test_a_call_inside_the_grant_is_answered(tmp_path: Path, tool: str) -> None:
    """The happy path of every tool, with an answer far below the size that hurts."""
    error, content = await _call(payment_case(tmp_path / "case"), tool)

    assert "" == error
    assert len(json.dumps(content)) < 200_000


@pytest.mark.parametrize("tool", [*COMPARED, "list_changes@1", "read_cluster_state@1"])
async def test_a_foreign_service_is_refused(tmp_path: Path, tool: str) -> None:
    """S1-j: no widening, whatever the arguments ask for."""
    error, content = await _call(
        payment_case(tmp_path / "case"), tool, services=["payment-api", "ledger"]
    )

    assert "SCOPE_EXCEEDED service ledger" in error
    assert content is None


@pytest.mark.parametrize("tool", COMPARED)
async def test_a_time_outside_the_window_is_refused(tmp_path: Path, tool: str) -> None:
    """The grant's time range is the outer limit."""
    early = (START - timedelta(days=1)).isoformat()
    error, _ = await _call(payment_case(tmp_path / "case"), tool, baseline_until=early)

    assert "SCOPE_EXCEEDED time range" in error


@pytest.mark.parametrize("tool", [*COMPARED, "list_changes@1", "read_cluster_state@1"])
async def test_no_grant_no_answer(tmp_path: Path, tool: str) -> None:
    """A request that carries no grant reads nothing."""
    error, _ = await _call(payment_case(tmp_path / "case"), tool, meta={})

    assert "SCOPE_EXCEEDED" in error


async def test_a_grant_for_other_tools_is_no_grant(tmp_path: Path) -> None:
    """A grant may name the tools it is for."""
    folder = payment_case(tmp_path / "case")
    error, _ = await _call(folder, "search_logs@2", tools=("read_trace@1",))

    assert "SCOPE_EXCEEDED tool search_logs@2" in error


async def test_the_row_limit_of_the_grant_wins(tmp_path: Path) -> None:
    """Asking for more rows than granted gives what is granted, marked as cut."""
    folder = payment_case(tmp_path / "case")
    _, content = await _call(folder, "search_logs@2", limit=900, max_rows=10)

    assert (10, True) == (content["rows_scanned"], content["truncated"])


async def test_refusals_of_a_source_keep_their_code(tmp_path: Path) -> None:
    """A specialist can tell a limit from a fault from an absence."""
    limits = {"metrics": {"requests_before_429": 0}, "logs": {"unavailable": True}}
    folder = payment_case(tmp_path / "case", limits=limits)

    assert "RATE_LIMITED" in (await _call(folder, "query_metrics@1"))[0]
    assert "UPSTREAM_UNAVAILABLE" in (await _call(folder, "search_logs@2"))[0]
    assert "NOT_KEPT" in (await _call(folder, "read_cluster_state@1"))[0]


@pytest.mark.parametrize("name", sorted(BUILDERS))
async def test_every_tool_is_read_only_and_versioned(name: str) -> None:
    """The manifest says what the catalogue relies on."""
    async with Client(BUILDERS[name](case_folders())) as client:
        tools = (await client.list_tools()).tools

    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
    assert all(tool.meta and tool.meta.get("caseops/version") for tool in tools)
