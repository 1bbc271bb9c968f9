"""The log investigator's tools over MCP: read-only, aggregating, bounded by the grant."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations
from pydantic import AwareDatetime, Field

from consumers.specialists.logs.answers import LogSummary, TraceSummary
from consumers.specialists.logs.call_times import edge_shifts, entry_services
from consumers.specialists.logs.flows import log_breaks, silent_breaks, span_breaks
from consumers.specialists.logs.templates import is_abnormal, is_baseline, templates
from consumers.specialists.onset import Split
from consumers.specialists.telemetry import NotKept, Scope, SourceError, Sources, Span
from consumers.specialists.tool_grant import OpenSources
from consumers.specialists.tool_scope import grant_of, refusals_told, scope_of

VERSIONS = {"search_logs": "2", "read_trace": "1"}
_READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True)
Services = Annotated[list[str], Field(max_length=500)]
Rows = Annotated[int, Field(ge=1, le=1_000_000)]


def build(open_sources: OpenSources) -> MCPServer:
    """Return the tool server over the sources that *open_sources* opens for a grant."""
    server = MCPServer("caseops-log-tools", version="2.0.0")

    @server.tool(annotations=_READ_ONLY, meta={"caseops/version": VERSIONS["search_logs"]})
    async def search_logs(
        services: Services,
        baseline_until: AwareDatetime,
        abnormal_from: AwareDatetime,
        ctx: Context,
        limit: Rows = 500_000,
    ) -> LogSummary:
        """Count log templates and broken log flows per service, before and after the onset."""
        grant = grant_of(ctx)
        sides = Split(baseline_until, abnormal_from)
        scope = scope_of(
            grant, "search_logs@2", services=services, times=sides, limit=limit
        )
        with refusals_told():
            return await _log_summary(open_sources(grant), scope, sides)

    @server.tool(annotations=_READ_ONLY, meta={"caseops/version": VERSIONS["read_trace"]})
    async def read_trace(
        services: Services,
        baseline_until: AwareDatetime,
        abnormal_from: AwareDatetime,
        ctx: Context,
        limit: Rows = 500_000,
    ) -> TraceSummary:
        """Compare calls between services, their gaps and their paths, before and after."""
        grant = grant_of(ctx)
        sides = Split(baseline_until, abnormal_from)
        scope = scope_of(grant, "read_trace@1", services=services, times=sides, limit=limit)
        with refusals_told():
            return await _trace_summary(open_sources(grant), scope, sides)

    return server


async def _log_summary(sources: Sources, scope: Scope, sides: Split) -> LogSummary:
    found = await sources.logs(scope)
    try:
        spans = await _spans(sources, scope)
    except SourceError:
        # Spans only sharpen this answer; `read_trace` is what reports that they are away.
        spans = ()
    silent = silent_breaks(spans, found.rows, sides)
    return LogSummary(
        rows_scanned=len(found.rows),
        truncated=found.truncated,
        missing=found.missing,
        baseline_lines=sum(is_baseline(line, sides) for line in found.rows),
        abnormal_lines=sum(is_abnormal(line, sides) for line in found.rows),
        templates=templates(found.rows, sides),
        breaks=silent + log_breaks(found.rows, sides),
    )


async def _spans(sources: Sources, scope: Scope) -> tuple[Span, ...]:
    try:
        return await sources.spans(scope)
    except NotKept:
        return ()


async def _trace_summary(sources: Sources, scope: Scope, sides: Split) -> TraceSummary:
    edges = await sources.trace_edges(scope)
    spans = await _spans(sources, scope)
    return TraceSummary(
        rows_scanned=len(edges) + len(spans),
        entry_services=entry_services(edges),
        edges=edge_shifts(edges, sides),
        breaks=span_breaks(spans, sides),
    )
