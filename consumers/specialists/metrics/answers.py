"""What the metric tool answers: how each series moved, and what the call graph looks like."""

from pydantic import AwareDatetime, BaseModel, ConfigDict


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class Spread(_Answer):
    """Where the values of a series lay on one side of the onset."""

    count: int
    low: float
    median: float
    high: float


class SeriesShift(_Answer):
    """One series before and after the onset; *since* is its first value outside its own band."""

    service: str
    metric: str
    labels: dict[str, str]
    before: Spread
    after: Spread
    since: AwareDatetime | None
    deviation: float


class Traffic(_Answer):
    """Requests of one service on one side: how many, how many failed, how long they took."""

    samples: int
    requests: float
    failures: float | None
    seconds: float | None


class ServiceTraffic(_Answer):
    """Requests of one service before and after the onset."""

    service: str
    before: Traffic
    after: Traffic
    latency_noise: float


class MetricSummary(_Answer):
    """Answer of `query_metrics`."""

    rows_scanned: int
    series_seen: int
    series: tuple[SeriesShift, ...]
    traffic: tuple[ServiceTraffic, ...]
    dimensions: dict[str, tuple[str, ...]]
    dependencies: tuple[tuple[str, str], ...]
    component_of: dict[str, str]
    notes: tuple[str, ...]
