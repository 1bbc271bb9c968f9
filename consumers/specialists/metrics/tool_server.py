"""The metric analyst's tool over MCP: read-only, aggregating, bounded by the grant."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations
from pydantic import AwareDatetime, Field

from consumers.specialists.metrics.answers import MetricSummary
from consumers.specialists.metrics.shifts import shifts
from consumers.specialists.metrics.traffic import service_traffic
from consumers.specialists.onset import Split
from consumers.specialists.telemetry import NotKept, Series, Sources, Topology
from consumers.specialists.tool_grant import OpenSources
from consumers.specialists.tool_scope import grant_of, refusals_told, scope_of

VERSIONS = {"query_metrics": "1"}
_MOST_VALUES = 12


def build(open_sources: OpenSources) -> MCPServer:
    """Return the tool server over the sources that *open_sources* opens for a grant."""
    server = MCPServer("caseops-metric-tools", version="1.0.0")

    @server.tool(
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True),
        meta={"caseops/version": VERSIONS["query_metrics"]},
    )
    async def query_metrics(
        services: Annotated[list[str], Field(max_length=500)],
        baseline_until: AwareDatetime,
        abnormal_from: AwareDatetime,
        ctx: Context,
        labels: dict[str, str] | None = None,
    ) -> MetricSummary:
        """Compare metric series before and after the onset; *labels* picks a breakdown."""
        grant = grant_of(ctx)
        sides = Split(baseline_until, abnormal_from)
        scope = scope_of(grant, "query_metrics@1", services=services, times=sides)
        sources = open_sources(grant)
        with refusals_told():
            found = await sources.series(scope, labels)
            topology = await _topology(sources)
        return _summary(found, topology, sides, by_label=bool(labels))

    return server


async def _topology(sources: Sources) -> Topology | None:
    try:
        return await sources.topology()
    except NotKept:
        return None


def _summary(
    found: tuple[Series, ...], topology: Topology | None, sides: Split, *, by_label: bool
) -> MetricSummary:
    rows = [each for each in found if by_label or not each.labels]
    return MetricSummary(
        rows_scanned=sum(len(each.points) for each in found),
        series_seen=len(found),
        series=shifts(rows, sides),
        traffic=service_traffic(rows, sides),
        dimensions=_dimensions(found),
        dependencies=topology.dependencies if topology else (),
        component_of=topology.component_of if topology else {},
        notes=topology.notes if topology else (),
    )


def _dimensions(found: tuple[Series, ...]) -> dict[str, tuple[str, ...]]:
    values: dict[str, set[str]] = {}
    for each in found:
        for name, value in each.labels:
            values.setdefault(name, set()).add(value)
    return {
        name: tuple(sorted(known))
        for name, known in sorted(values.items())
        if len(known) <= _MOST_VALUES
    }
