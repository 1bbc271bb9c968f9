"""What data sources give, whatever stands behind them: rows, and the ways they can refuse."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from consumers.specialists.questions import Window

Phase = Literal["reference", "window"]


class SourceError(Exception):
    """A source could not answer; *code* says in which of the known ways."""

    code = "UPSTREAM_UNAVAILABLE"
    retryable = True


class NotKept(SourceError):
    """The system does not keep this kind of data."""

    code = "NOT_KEPT"
    retryable = False


class RateLimited(SourceError):
    """The source asks to be left alone for a while."""

    code = "RATE_LIMITED"


class SourceAway(SourceError):
    """The source is broken or cannot be reached."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be read: *services* (empty: all), a time window, at most *limit* rows."""

    services: tuple[str, ...]
    window: Window
    limit: int = 200_000


@dataclass(frozen=True, slots=True)
class LogLine:
    """One log line."""

    ts: datetime
    service: str
    pod: str
    level: str
    logger: str
    trace_id: str
    span_id: str
    message: str
    phase: Phase = "window"


@dataclass(frozen=True, slots=True)
class LogLines:
    """Log lines in order, and what is known to be missing from them."""

    rows: tuple[LogLine, ...]
    missing: tuple[str, ...] = ()
    truncated: bool = False


class Point(NamedTuple):
    """One sample: seconds since the epoch, and the value."""

    at: float
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one metric of one service under one set of labels."""

    service: str
    metric: str
    points: tuple[Point, ...]
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TraceEdge:
    """One minute of calls between two services; the gap is client span minus server span."""

    minute: datetime
    phase: Phase
    caller: str
    callee: str
    operation: str
    spans: int
    p50_ms: float
    p95_ms: float
    max_ms: float
    client_gap_p50_ms: float | None


@dataclass(frozen=True, slots=True)
class Span:
    """One span of a sampled trace."""

    trace_id: str
    span_id: str
    parent_id: str | None
    service: str
    operation: str
    start: datetime
    duration_ms: float
    status: str = ""


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One record of a change log, an audit log or a cluster's events."""

    ts: datetime
    source: str
    kind: str
    target: str
    summary: str
    actor: str = ""
    reason: str = ""
    severity: str = ""
    ts_precision: str = "exact"
    detail: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterOutput:
    """Recorded output of one read-only cluster command."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Topology:
    """Which services exist, who calls whom, and which kinds of data are kept."""

    services: tuple[str, ...]
    candidate_services: tuple[str, ...]
    dependencies: tuple[tuple[str, str], ...]
    component_of: dict[str, str]
    window: Window
    metrics_step_seconds: float | None
    notes: tuple[str, ...] = ()
    kinds: dict[str, bool] = field(default_factory=dict)


class TopologySource(Protocol):
    """Knows the shape of the system."""

    async def topology(self) -> Topology:
        """Return the shape of the system under investigation."""
        ...


class LogSource(Protocol):
    """Gives log lines."""

    async def logs(self, scope: Scope) -> LogLines:
        """Return the lines in *scope*, reference lines (phase) from before it included."""
        ...


class TraceSource(Protocol):
    """Gives calls between services."""

    async def trace_edges(self, scope: Scope) -> tuple[TraceEdge, ...]:
        """Return the minute rows of *scope*, reference rows included."""
        ...

    async def spans(self, scope: Scope) -> tuple[Span, ...]:
        """Return the sampled spans of *scope*, reference spans included."""
        ...


class MetricSource(Protocol):
    """Gives metric series."""

    async def series(
        self, scope: Scope, labels: dict[str, str] | None
    ) -> tuple[Series, ...]:
        """Return the series in *scope* that carry *labels* (None: whatever they carry)."""
        ...


class ChangeSource(Protocol):
    """Gives change records and recorded cluster state."""

    async def changes(self, scope: Scope) -> tuple[ChangeRecord, ...]:
        """Return the change records of *scope*."""
        ...

    async def cluster_state(self, scope: Scope) -> tuple[ClusterOutput, ...]:
        """Return the recorded outputs of read-only cluster commands."""
        ...


class Sources(TopologySource, LogSource, TraceSource, MetricSource, ChangeSource, Protocol):
    """All kinds of data of one case."""
