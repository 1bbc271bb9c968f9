"""Metric series over Prometheus' HTTP API, on wire fixtures."""

from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest

from consumers.specialists.questions import Window
from consumers.specialists.sources.live import LiveSources
from consumers.specialists.sources.prometheus import Prometheus
from consumers.specialists.telemetry import NotKept, Point, RateLimited, Scope, Series
from tests.support.case_folders import END, START

SCOPE = Scope(("api", "b.c"), Window(START, END), 4)


def _prometheus(
    *rows: dict[str, Any], status: int = 200, **options: Any
) -> tuple[Prometheus, list[dict[str, str]]]:
    asked: list[dict[str, str]] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        form = parse_qs(request.content.decode())
        asked.append({key: values[0] for key, values in form.items()})
        data = {"resultType": "matrix", "result": list(rows)}
        return httpx2.Response(status, json={"status": "success", "data": data})

    client = httpx2.AsyncClient(
        transport=httpx2.MockTransport(handle), base_url="http://prometheus.invalid"
    )
    return Prometheus(client, **options), asked


def _row(*values: tuple[float, str], **labels: str) -> dict[str, Any]:
    told = {"__name__": "latency", "service": "api", "instance": "i", **labels}
    return {"metric": told, "values": [list(value) for value in values]}


async def test_series_keep_telling_labels_and_finite_values() -> None:
    """Who scraped it says nothing about the case; NaN is no sample."""
    source, _ = _prometheus(_row((1.0, "2"), (2.0, "NaN"), region="east"))

    assert (await source.series(SCOPE, None)) == (
        Series("api", "latency", (Point(1.0, 2.0),), (("region", "east"),)),
    )


async def test_services_and_labels_reach_the_query_as_text() -> None:
    """Dots are literal, quotes cannot end the string."""
    source, asked = _prometheus()
    await source.series(SCOPE, {"region": 'e"}'})

    assert r'service=~"api|b\\.c",region="e\"}"' in asked[0]["query"]


async def test_named_expressions_give_their_own_metric() -> None:
    """A rate over raw counters is asked as a query of its own."""
    queries = {"success_rate_percent": 'ok{service=~"$services"$labels}'}
    source, asked = _prometheus(_row((1.0, "99")), queries=queries)
    (found,) = await source.series(SCOPE, None)

    assert "success_rate_percent" == found.metric
    assert r'ok{service=~"api|b\\.c"}' == asked[0]["query"]


async def test_the_row_limit_counts_samples() -> None:
    """Series beyond the limit are left out whole, never cut in the middle."""
    samples = [(float(n), "1") for n in range(3)]
    source, _ = _prometheus(_row(*samples), _row(*samples, region="b"))

    assert 1 == len(await source.series(SCOPE, None))


async def test_a_long_window_gets_a_coarser_step() -> None:
    """The server refuses more than some thousand steps per series."""
    source, asked = _prometheus(step_seconds=0.5)
    await source.series(SCOPE, None)

    assert 1.5 == float(asked[0]["step"])


async def test_too_many_requests_is_a_rate_limit() -> None:
    """The specialist may come back later."""
    source, _ = _prometheus(status=429)

    with pytest.raises(RateLimited):
        await source.series(SCOPE, None)


async def test_what_has_no_backend_is_not_kept() -> None:
    """Live sources answer for what is connected, nothing else."""
    live = LiveSources(prometheus=_prometheus()[0])

    assert await live.series(SCOPE, None) == ()
    for read in (live.logs, live.trace_edges, live.spans, live.changes, live.cluster_state):
        with pytest.raises(NotKept):
            await read(SCOPE)
