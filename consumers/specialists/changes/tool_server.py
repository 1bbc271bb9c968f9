"""The change auditor's tools over MCP: read-only, bounded by the grant."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations
from pydantic import Field

from consumers.specialists.changes.answers import Change, ChangeList, ClusterState, Output
from consumers.specialists.telemetry import ChangeRecord
from consumers.specialists.tool_grant import OpenSources
from consumers.specialists.tool_scope import grant_of, refusals_told, scope_of

VERSIONS = {"list_changes": "1", "read_cluster_state": "1"}
_READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True)
_MOST_RECORDS = 300
_MOST_CHARACTERS = 16_000
_TEXT = 600
Services = Annotated[list[str], Field(max_length=500)]


def build(open_sources: OpenSources) -> MCPServer:
    """Return the tool server over the sources that *open_sources* opens for a grant."""
    server = MCPServer("caseops-change-tools", version="1.0.0")

    @server.tool(annotations=_READ_ONLY, meta={"caseops/version": VERSIONS["list_changes"]})
    async def list_changes(services: Services, ctx: Context) -> ChangeList:
        """List change records in the granted window, the latest ones when there are many."""
        grant = grant_of(ctx)
        scope = scope_of(grant, "list_changes@1", services=services)
        with refusals_told():
            found = await open_sources(grant).changes(scope)
        return ChangeList(
            rows_scanned=len(found),
            truncated=len(found) > _MOST_RECORDS,
            records=tuple(_change(each) for each in found[-_MOST_RECORDS:]),
        )

    @server.tool(
        annotations=_READ_ONLY, meta={"caseops/version": VERSIONS["read_cluster_state"]}
    )
    async def read_cluster_state(services: Services, ctx: Context) -> ClusterState:
        """Return the recorded outputs of read-only cluster commands, long ones cut."""
        grant = grant_of(ctx)
        scope = scope_of(grant, "read_cluster_state@1", services=services)
        with refusals_told():
            found = await open_sources(grant).cluster_state(scope)
        return ClusterState(
            rows_scanned=sum(each.text.count("\n") + 1 for each in found),
            outputs=tuple(
                Output(name=e.name, text=e.text[:_MOST_CHARACTERS]) for e in found
            ),
        )

    return server


def _change(record: ChangeRecord) -> Change:
    detail = dict(record.detail)
    return Change(
        ts=record.ts,
        ts_precision=record.ts_precision,
        source=record.source,
        kind=record.kind,
        action=detail.get("action", ""),
        target=record.target,
        service=detail.get("service", ""),
        actor=record.actor,
        reason=record.reason,
        severity=record.severity,
        summary=record.summary[:_TEXT],
    )
