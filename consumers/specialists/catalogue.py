"""The specialists there are: one explicit row each."""

from collections.abc import Mapping

from consumers.specialists.capabilities import Analyst, CatalogueEntry, Tool
from consumers.specialists.changes import analysis as change_analysis
from consumers.specialists.changes import tool_server as change_tools
from consumers.specialists.logs import analysis as log_analysis
from consumers.specialists.logs import tool_server as log_tools
from consumers.specialists.metrics import analysis as metric_analysis
from consumers.specialists.metrics import tool_server as metric_tools


def _tool(
    name: str,
    evidence: Mapping[str, tuple[str, tuple[str, ...]]],
    *,
    prefix: str,
    source: str,
) -> Tool:
    kind, supports = evidence[name]
    return Tool(name, kind, prefix, source, supports)


CATALOGUE: tuple[CatalogueEntry, ...] = (
    CatalogueEntry(
        name="logs",
        agent_id="log-investigator@3",
        short="log",
        tools=(
            _tool("search_logs@2", log_analysis.EVIDENCE, prefix="log", source="logs"),
            _tool("read_trace@1", log_analysis.EVIDENCE, prefix="trace", source="traces"),
        ),
        scopes=("logs:read", "traces:read"),
        analyst=Analyst(log_analysis.next_calls, log_analysis.conclude),
        tool_server=log_tools.build,
    ),
    CatalogueEntry(
        name="metrics",
        agent_id="metric-analyst@1",
        short="metric",
        tools=(
            _tool(
                "query_metrics@1",
                metric_analysis.EVIDENCE,
                prefix="metric",
                source="metrics",
            ),
        ),
        scopes=("metrics:read",),
        analyst=Analyst(metric_analysis.next_calls, metric_analysis.conclude),
        tool_server=metric_tools.build,
    ),
    CatalogueEntry(
        name="changes",
        agent_id="security-auditor@1",
        short="sec",
        tools=(
            _tool(
                "list_changes@1",
                change_analysis.EVIDENCE,
                prefix="change",
                source="changes",
            ),
            _tool(
                "read_cluster_state@1",
                change_analysis.EVIDENCE,
                prefix="cluster",
                source="cluster",
            ),
        ),
        scopes=("changes:read",),
        analyst=Analyst(change_analysis.next_calls, change_analysis.conclude),
        tool_server=change_tools.build,
    ),
)
BY_NAME = {entry.name: entry for entry in CATALOGUE}
