"""What a metric measures, read from the words in its name; pure."""

from typing import Literal

MetricKind = Literal["availability", "latency", "cpu", "memory", "traffic", "other"]

_WORDS: tuple[tuple[MetricKind, tuple[str, ...]], ...] = (
    ("availability", ("success", "availability")),
    ("latency", ("latency", "duration", "response_time")),
    ("traffic", ("requests", "request_count", "workload", "throughput", "rps", "qps")),
)


def metric_kind(name: str) -> MetricKind:
    """Return what the metric *name* measures, as far as its own words tell."""
    words = name.lower()
    for kind, marks in _WORDS:
        if any(mark in words for mark in marks):
            return kind
    # Of a node's load nobody can say which of its tenants causes it.
    if "node" in words or not any(mark in words for mark in ("percent", "utili")):
        return "other"
    if "cpu" in words:
        return "cpu"
    return "memory" if "memory" in words else "other"


def is_typical_latency(name: str) -> bool:
    """Return whether *name* is a latency of the usual request, not of the slowest."""
    words = name.lower()
    return metric_kind(name) == "latency" and any(
        mark in words for mark in ("average", "mean", "avg", "p50", "median")
    )


def memory_unit(name: str) -> float:
    """Return how many MiB one unit of the metric *name* is, 0 when it measures no amount."""
    words = name.lower()
    if "memory" not in words or "node" in words:
        return 0.0
    if words.endswith(("mib", "mb")):
        return 1.0
    return 2.0**-20 if "bytes" in words else 0.0
