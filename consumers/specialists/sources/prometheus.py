"""Metrics from a Prometheus server, through its HTTP API."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import httpx2

from consumers.specialists.sources.http_reads import read_json
from consumers.specialists.telemetry import Point, Scope, Series

# Raw counters and buckets only ever grow: what they say needs a query of its own.
GAUGES = {
    "": '{__name__!~".+_(total|count|sum|bucket|created|info)",service=~"$services"$labels}'
}
_UNTOLD = frozenset({"__name__", "service", "instance", "job", "pod", "endpoint"})
_MOST_STEPS = 1000


class Prometheus:
    """Reads series over a range; *queries* name a PromQL expression per metric.

    In an expression `$services` stands for the granted services and `$labels` for the wanted
    labels; an expression named "" keeps the names that its series carry.
    """

    def __init__(
        self,
        client: httpx2.AsyncClient,
        *,
        queries: Mapping[str, str] = GAUGES,
        step_seconds: float = 60.0,
    ) -> None:
        self._client = client
        self._queries = dict(queries)
        self._step = step_seconds

    async def series(
        self, scope: Scope, labels: dict[str, str] | None
    ) -> tuple[Series, ...]:
        """Return the series of the services in *scope* that carry *labels*."""
        found: list[Series] = []
        rows = 0
        for name, expression in self._queries.items():
            query = filled(expression, scope.services, labels or {})
            for each in await self._range(query, scope):
                made = _series(name, each)
                rows += len(made.points)
                if rows > scope.limit:
                    return tuple(found)
                found.append(made)
        return tuple(found)

    async def _range(self, query: str, scope: Scope) -> Iterable[dict[str, Any]]:
        start, end = scope.window.start.timestamp(), scope.window.end.timestamp()
        body = await read_json(
            self._client,
            "/api/v1/query_range",
            {
                "query": query,
                "start": f"{start:.3f}",
                "end": f"{end:.3f}",
                "step": f"{max(self._step, (end - start) / _MOST_STEPS):.3f}",
            },
        )
        rows: list[dict[str, Any]] = body["data"]["result"]
        return rows


def filled(expression: str, services: Iterable[str], labels: Mapping[str, str]) -> str:
    """Return *expression* with services and labels in it, as text that cannot escape quotes."""
    names = "|".join(re.escape(service) for service in services)
    wanted = "".join(
        f',{re.sub(r"[^A-Za-z0-9_]", "_", name)}="{_quoted(value)}"'
        for name, value in sorted(labels.items())
    )
    return expression.replace("$services", _quoted(names)).replace("$labels", wanted)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _series(name: str, row: Mapping[str, Any]) -> Series:
    told: dict[str, str] = row["metric"]
    points = ((float(at), float(value)) for at, value in row["values"])
    return Series(
        service=told.get("service", ""),
        metric=name or told.get("__name__", ""),
        points=tuple(Point(at, value) for at, value in points if math.isfinite(value)),
        labels=tuple(sorted((key, told[key]) for key in told.keys() - _UNTOLD)),
    )
