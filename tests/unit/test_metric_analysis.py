"""The metric analyst's judgement."""

from pathlib import Path
from typing import Any

import pytest

from consumers.specialists.metrics.answers import (
    MetricSummary,
    SeriesShift,
    ServiceTraffic,
    Spread,
    Traffic,
)
from consumers.specialists.metrics.kinds import is_typical_latency, memory_unit, metric_kind
from consumers.specialists.metrics.suspicions import from_metrics
from consumers.specialists.questions import Candidate, Conclusion
from tests.support.case_folders import payment_case
from tests.support.offline import ask, question_of


def _spread(low: float, high: float) -> Spread:
    return Spread(count=9, low=low, median=(low + high) / 2, high=high)


def _moved(service: str, metric: str, before: Spread, after: Spread) -> SeriesShift:
    return SeriesShift(
        service=service,
        metric=metric,
        labels={},
        before=before,
        after=after,
        since=None,
        deviation=1.0,
    )


def _traffic(service: str, *, failed: float = 0, seconds: float = 10) -> ServiceTraffic:
    return ServiceTraffic(
        service=service,
        before=Traffic(samples=10, requests=1000, failures=0, seconds=100),
        after=Traffic(samples=1, requests=100, failures=failed, seconds=seconds),
        latency_noise=0.001,
    )


def _summary(
    *traffic: ServiceTraffic, series: tuple[SeriesShift, ...] = (), **more: Any
) -> MetricSummary:
    defaults: dict[str, Any] = {
        "rows_scanned": 1,
        "series_seen": 1,
        "dimensions": {},
        "dependencies": (("front", "middle"), ("middle", "back")),
        "component_of": {},
        "notes": (),
    }
    return MetricSummary(series=series, traffic=traffic, **(defaults | more))


def _best(summary: MetricSummary) -> Candidate:
    found = from_metrics(summary, ["front"])
    return max(found, key=lambda each: each.score)


async def _metrics_of(folder: Path, **limits: dict[str, object]) -> Conclusion:
    payment_case(folder, limits=limits)
    return await ask("metrics", question_of(folder), folder, task_id="t")


async def test_the_impact_is_told_in_figures(tmp_path: Path) -> None:
    """S1: from what to what, where, on which evidence."""
    conclusion = await _metrics_of(tmp_path / "case")
    (impact,) = [claim for claim in conclusion.claims if claim.key == "impact"]

    assert ("success_rate 99.6 -> 93.1", "payment-api") == (impact.value, impact.subject)
    assert "region cn-east" in impact.statement


async def test_a_rate_limit_leaves_the_named_region_and_lists_the_others(
    tmp_path: Path,
) -> None:
    """S1: the region an alert names is read first; what the limit cost is listed."""
    conclusion = await _metrics_of(tmp_path / "case", metrics={"requests_before_429": 2})

    assert "partial" == conclusion.status
    assert ("metrics-region-cn-north", "metrics-region-cn-south") == (
        conclusion.missing_evidence
    )
    assert ["success_rate 99.6 -> 93.1"] == [
        claim.value for claim in conclusion.claims if claim.key == "impact"
    ]


async def test_a_source_that_gives_nothing_is_a_failure_with_its_code(
    tmp_path: Path,
) -> None:
    """No figure is made up when the very first read is refused."""
    conclusion = await _metrics_of(tmp_path / "case", metrics={"requests_before_429": 0})

    assert ("failed", "RATE_LIMITED", ()) == (
        conclusion.status,
        conclusion.error_code,
        conclusion.claims,
    )


def test_the_deepest_failing_service_explains_the_front() -> None:
    """Callers fail because their callee fails: the one with no failing callee is it."""
    best = _best(
        _summary(
            _traffic("front", failed=20),
            _traffic("middle", failed=20),
            _traffic("back", failed=20),
        )
    )

    assert ("back", "availability_degraded") == (best.service, best.type)


def test_a_slow_service_in_the_middle_is_found() -> None:
    """What it calls is as fast as ever, so the time is its own."""
    best = _best(
        _summary(
            _traffic("front", seconds=60), _traffic("middle", seconds=60), _traffic("back")
        )
    )

    assert ("middle", "latency_degraded") == (best.service, best.type)


def test_a_slow_data_store_is_overloaded() -> None:
    """A store at the end of the path has no code of its own to be slow."""
    best = _best(
        _summary(
            _traffic("front", seconds=60),
            _traffic("orders-database", seconds=60),
            dependencies=(("front", "orders-database"),),
        )
    )

    assert ("workload", "database_request_overload") == (best.category, best.type)


def test_nodes_of_one_component_do_not_explain_each_other() -> None:
    """A balancer in front of a service is that service."""
    best = _best(
        _summary(
            _traffic("front", failed=20),
            _traffic("balancer", failed=20),
            _traffic("server", failed=20),
            dependencies=(("front", "balancer"), ("front", "server"), ("server", "x")),
            component_of={"balancer": "shop", "server": "shop"},
        )
    )

    assert "server" == best.service


@pytest.mark.parametrize(
    ("memory_after", "expected"), [(140.0, "cpu_contention"), (101.0, "cpu_hog_in_process")]
)
def test_a_full_cpu_is_a_cause_and_memory_tells_which(
    memory_after: float, expected: str
) -> None:
    """A competitor brings memory with it; a busy loop does not."""
    best = _best(
        _summary(
            series=(
                _moved("x", "cpu_usage_percent", _spread(2, 9), _spread(60, 99)),
                _moved(
                    "x", "memory_usage_mib", _spread(99, 100), _spread(100, memory_after)
                ),
            )
        )
    )

    assert ("x", expected) == (best.service, best.type)
    assert best.score > 0.9


def test_an_always_busy_cpu_is_no_news() -> None:
    """High use that was there before explains nothing."""
    busy = _moved("x", "cpu_usage_percent", _spread(80, 92), _spread(80, 95))

    assert from_metrics(_summary(series=(busy,)), ["front"]) == []


def test_failures_at_the_door_alone_suspect_the_first_service() -> None:
    """When nothing behind it shows, the service right behind the door is suspected, mildly."""
    door = _moved("edge", "success_rate_percent", _spread(100, 100), _spread(90, 95))
    seen = [
        _moved(name, "cpu_usage_percent", _spread(1, 2), _spread(1, 2))
        for name in ("front", "middle")
    ]
    best = _best(_summary(series=(door, *seen)))

    assert ("front", "code_exception") == (best.service, best.type)
    assert best.score < 0.6


def test_moved_latencies_alone_never_convince() -> None:
    """A false alarm has moved latencies too."""
    moved = _moved("x", "latency_p99_seconds", _spread(1, 2), _spread(50, 90))

    assert _best(_summary(series=(moved,))).score <= 0.3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("success_rate_percent", "availability"),
        ("latency_p95_seconds", "latency"),
        ("requests_sum", "traffic"),
        ("cpu_usage_percent", "cpu"),
        ("node_cpu_usage_percent", "other"),
        ("memory_usage_percent", "memory"),
        ("cpu_usage_millicores", "other"),
    ],
)
def test_a_metric_is_known_by_the_words_of_its_name(name: str, expected: str) -> None:
    """No list of metric names is needed."""
    assert expected == metric_kind(name)


def test_units_and_typical_latencies_are_read_from_names() -> None:
    """Amounts of memory count in MiB; the usual request is not the slowest."""
    assert (1.0, 2.0**-20, 0.0) == (
        memory_unit("memory_usage_mib"),
        memory_unit("memory_rss_bytes"),
        memory_unit("memory_usage_percent"),
    )
    assert is_typical_latency("latency_average_seconds")
    assert not is_typical_latency("latency_p99_seconds")
