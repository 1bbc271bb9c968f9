"""Log lines over Loki's HTTP API, on wire fixtures."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest

from consumers.specialists.questions import Window
from consumers.specialists.sources.loki import Loki
from consumers.specialists.telemetry import RateLimited, Scope, SourceAway
from tests.support.case_folders import END, START

Answer = Callable[[dict[str, str]], httpx2.Response]
SCOPE = Scope(("api", 'b"d'), Window(START, END), 100)


def _ns(at: datetime, more: int = 0) -> str:
    return str(int(at.timestamp()) * 1_000_000_000 + more)


def _loki(answer: Answer, *, page: int = 1000) -> tuple[Loki, list[dict[str, str]]]:
    asked: list[dict[str, str]] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        form = parse_qs(request.content.decode())
        asked.append({key: values[0] for key, values in form.items()})
        return answer(asked[-1])

    client = httpx2.AsyncClient(
        transport=httpx2.MockTransport(handle), base_url="http://loki.invalid"
    )
    return Loki(client, page=page), asked


def _streams(*streams: dict[str, object], **more: object) -> httpx2.Response:
    data = {"resultType": "streams", "result": list(streams), "stats": {}}
    return httpx2.Response(200, json={"status": "success", "data": data, **more})


def _stream(*values: list[Any], **labels: str) -> dict[str, object]:
    return {"stream": {"service": "api", **labels}, "values": list(values)}


async def test_lines_come_with_labels_metadata_and_fields() -> None:
    """A plain line takes its level from the labels, a JSON line from itself."""
    body = json.dumps({"level": "warn", "msg": "slow", "trace_id": "t1"})
    loki, _ = _loki(
        lambda _: _streams(
            _stream([_ns(START), "plain"], level="info", pod="api-1"),
            _stream([_ns(START, 1000), body, {"span_id": "s1"}]),
        )
    )
    first, second = (await loki.logs(SCOPE)).rows

    assert ("api", "api-1", "INFO", "plain") == (
        first.service,
        first.pod,
        first.level,
        first.message,
    )
    assert ("WARN", "slow", "t1", "s1") == (
        second.level,
        second.message,
        second.trace_id,
        second.span_id,
    )


async def test_the_query_names_only_granted_services_and_cannot_be_broken_out_of() -> None:
    """A service name is text, quotes and patterns in it are escaped."""
    loki, asked = _loki(lambda _: _streams())
    await loki.logs(SCOPE)

    assert r'{service=~"api|b\"d"}' == asked[0]["query"]
    assert (_ns(START), "forward") == (asked[0]["start"], asked[0]["direction"])


async def test_pages_join_without_loss_or_double() -> None:
    """Lines that share an instant across a page border are each given once."""
    rows = [[_ns(START, 1000 * (n // 2)), f"line {n}"] for n in range(7)]

    def page(form: dict[str, str]) -> httpx2.Response:
        fitting = [row for row in rows if int(row[0]) >= int(form["start"])]
        return _streams(_stream(*fitting[: int(form["limit"])]))

    loki, _ = _loki(page, page=3)

    assert [f"line {n}" for n in range(7)] == [
        line.message for line in (await loki.logs(SCOPE)).rows
    ]


async def test_more_lines_than_granted_are_cut_and_marked() -> None:
    """The row limit holds for live sources too."""
    rows = [[_ns(START, 1000 * n), f"line {n}"] for n in range(300)]
    loki, _ = _loki(lambda _: _streams(_stream(*rows)))
    found = await loki.logs(SCOPE)

    assert (100, True) == (len(found.rows), found.truncated)


async def test_warnings_of_the_server_are_told_as_missing() -> None:
    """A partial answer of the backend is a partial answer of ours."""
    loki, _ = _loki(lambda _: _streams(warnings=["querier-3 timed out"]))

    assert ("loki: querier-3 timed out",) == (await loki.logs(SCOPE)).missing


def _fail(_: dict[str, str]) -> httpx2.Response:
    raise httpx2.ConnectError("refused")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda _: httpx2.Response(429), RateLimited),
        (lambda _: httpx2.Response(503, text="ring is empty"), SourceAway),
        (lambda _: httpx2.Response(400, text="parse error"), SourceAway),
        (lambda _: httpx2.Response(200, text="<html>"), SourceAway),
        (lambda _: httpx2.Response(200, json={"status": "error"}), SourceAway),
        (_fail, SourceAway),
    ],
)
async def test_refusals_and_faults_are_told_apart(
    answer: Answer, expected: type[Exception]
) -> None:
    """A limit is no fault; neither is an answer."""
    loki, _ = _loki(answer)

    with pytest.raises(expected):
        await loki.logs(SCOPE)
