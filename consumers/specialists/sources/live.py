"""Live backends side by side as one source; what has no backend is not kept."""

from consumers.specialists.sources.loki import Loki
from consumers.specialists.sources.prometheus import Prometheus
from consumers.specialists.telemetry import (
    ChangeRecord,
    ClusterOutput,
    LogLines,
    NotKept,
    Scope,
    Series,
    Span,
    Topology,
    TraceEdge,
)


class LiveSources:
    """Metrics from Prometheus and logs from Loki, each only if there is one."""

    def __init__(
        self, *, prometheus: Prometheus | None = None, loki: Loki | None = None
    ) -> None:
        self._prometheus = prometheus
        self._loki = loki

    async def topology(self) -> Topology:
        """Refuse: no live backend knows the call graph yet."""
        raise NotKept("topology")

    async def logs(self, scope: Scope) -> LogLines:
        """Return the log lines in *scope*."""
        if self._loki is None:
            raise NotKept("logs")
        return await self._loki.logs(scope)

    async def series(
        self, scope: Scope, labels: dict[str, str] | None
    ) -> tuple[Series, ...]:
        """Return the metric series in *scope* that carry *labels*."""
        if self._prometheus is None:
            raise NotKept("metrics")
        return await self._prometheus.series(scope, labels)

    async def trace_edges(self, scope: Scope) -> tuple[TraceEdge, ...]:
        """Refuse: no trace backend is connected."""
        raise NotKept("traces")

    async def spans(self, scope: Scope) -> tuple[Span, ...]:
        """Refuse: no trace backend is connected."""
        raise NotKept("traces")

    async def changes(self, scope: Scope) -> tuple[ChangeRecord, ...]:
        """Refuse: no change log is connected."""
        raise NotKept("changes")

    async def cluster_state(self, scope: Scope) -> tuple[ClusterOutput, ...]:
        """Refuse: no cluster is connected."""
        raise NotKept("cluster state")
