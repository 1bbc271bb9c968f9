"""Metric series from a real Prometheus."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import httpx2
import pytest
from mcp import Client

from consumers.specialists.metrics.answers import MetricSummary
from consumers.specialists.metrics.tool_server import build
from consumers.specialists.questions import ToolCall, Window
from consumers.specialists.sources.live import LiveSources
from consumers.specialists.sources.prometheus import Prometheus
from consumers.specialists.telemetry import Scope, SourceAway
from consumers.specialists.tool_grant import GrantWindow, ToolGrant, meta_of
from tests.support.case_folders import DROPPED, END, FIRED, REGIONS, START
from tests.support.offline import call_tool
from tests.support.prometheus import NOT_RUN, is_installed, is_required, serving

pytestmark = pytest.mark.skipif(not is_installed() and not is_required(), reason=NOT_RUN)

SCOPE = Scope(("payment-api",), Window(START, END), 10_000)


def _samples() -> Iterator[str]:
    yield "# TYPE success_rate_percent gauge"
    for region in REGIONS:
        for minute in range(26):
            at = START + timedelta(minutes=minute)
            value = 93.1 if at >= DROPPED and region == "cn-east" else 99.6
            labels = f'service="payment-api",region="{region}",instance="i-1"'
            yield f"success_rate_percent{{{labels}}} {value} {at.timestamp():.0f}"
    yield "# TYPE requests counter"
    for minute in range(26):
        seconds = f"{(START + timedelta(minutes=minute)).timestamp():.0f}"
        yield f'requests_total{{service="payment-api"}} {600 * minute} {seconds}'
        yield f'requests_total{{service="ledger"}} {6 * minute} {seconds}'


@pytest.fixture(scope="module")
async def client(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[httpx2.AsyncClient]:
    """Give a client of a running server that holds the payment incident's samples."""
    assert is_installed(), "prometheus is required here and not installed"
    folder = tmp_path_factory.mktemp("prometheus")
    async with serving(folder, _samples()) as url, httpx2.AsyncClient(base_url=url) as http:
        yield http


async def test_gauges_of_a_granted_service_are_read(client: httpx2.AsyncClient) -> None:
    """Counters are left to queries of their own; labels of the scrape are dropped."""
    found = await Prometheus(client).series(SCOPE, None)

    assert {("success_rate_percent", (("region", region),)) for region in REGIONS} == {
        (each.metric, each.labels) for each in found
    }
    assert {26} == {len(each.points) for each in found}


async def test_labels_pick_a_breakdown(client: httpx2.AsyncClient) -> None:
    """One region is read without the others."""
    (found,) = await Prometheus(client).series(SCOPE, {"region": "cn-east"})

    assert (99.6, 93.1) == (found.points[0].value, found.points[-1].value)


async def test_a_rate_over_a_counter_is_a_named_query(client: httpx2.AsyncClient) -> None:
    """What only grows becomes a metric through an expression."""
    queries = {
        "requests_per_second": 'sum by (service) (rate(requests_total{service=~"$services"}[5m]))'
    }
    (found,) = await Prometheus(client, queries=queries).series(SCOPE, None)

    assert ("payment-api", "requests_per_second") == (found.service, found.metric)
    assert pytest.approx(10) == found.points[-1].value


async def test_a_service_name_cannot_widen_the_query(client: httpx2.AsyncClient) -> None:
    """A pattern in a name is text."""
    wide = Scope((".*", '"} or {service="ledger'), SCOPE.window, 10_000)

    assert await Prometheus(client).series(wide, None) == ()


async def test_a_broken_query_is_told_as_the_source_being_away(
    client: httpx2.AsyncClient,
) -> None:
    """The server's refusal keeps its text."""
    source = Prometheus(client, queries={"x": "sum by ("})

    with pytest.raises(SourceAway, match="HTTP 400"):
        await source.series(SCOPE, None)


async def test_the_metric_tool_reads_a_live_server(client: httpx2.AsyncClient) -> None:
    """The same tool, the same answer, whatever stands behind it."""
    live = LiveSources(prometheus=Prometheus(client))
    grant = ToolGrant(
        task_id="t",
        services=("payment-api",),
        window=GrantWindow(start=START, end=END),
    )
    call = ToolCall(
        tool="query_metrics@1",
        arguments={
            "services": ["payment-api"],
            "baseline_until": (FIRED - timedelta(minutes=3)).isoformat(),
            "abnormal_from": FIRED.isoformat(),
            "labels": {"region": "cn-east"},
        },
    )
    async with Client(build(lambda _: live)) as tools:
        found = await call_tool(tools, call, meta_of(grant), number=1)

    (shift,) = MetricSummary.model_validate(found.content).series
    assert (99.6, 93.1) == (shift.before.median, shift.after.low)
