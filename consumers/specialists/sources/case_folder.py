"""A case folder as a source: recorded telemetry of one incident, read once and kept."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from consumers.specialists.questions import Window
from consumers.specialists.sources import case_rows
from consumers.specialists.telemetry import (
    ChangeRecord,
    ClusterOutput,
    LogLines,
    NotKept,
    RateLimited,
    Scope,
    Series,
    SourceAway,
    Span,
    Topology,
    TraceEdge,
)

T = TypeVar("T")


class CaseFolder:
    """Reads a case folder; `limits.json` in it makes a source behave as broken or limited."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._loaded: dict[str, Any] = {}
        self._metric_requests = 0

    async def topology(self) -> Topology:
        """Return what `context.json` says about the system."""
        return await self._load("topology", case_rows.topology)

    async def logs(self, scope: Scope) -> LogLines:
        """Return log lines in *scope* with the fault-free reference lines before them."""
        limits = await self._limits("logs")
        lost = frozenset(limits.get("unavailable_shards", ()))
        window = await self._load(
            "logs", lambda at: case_rows.log_lines(at, "window", lost)
        )
        if window is None:
            raise NotKept("logs")
        reference = await self._load(
            "logs_reference", lambda at: case_rows.log_lines(at, "reference", lost)
        )
        rows = [line for line in reference or () if _allowed(line.service, scope)]
        rows += [
            line
            for line in window
            if _allowed(line.service, scope) and _within(line.ts, scope.window)
        ]
        missing = tuple(f"log-shard-{shard}" for shard in sorted(lost))
        return LogLines(tuple(rows[: scope.limit]), missing, len(rows) > scope.limit)

    async def series(
        self, scope: Scope, labels: dict[str, str] | None
    ) -> tuple[Series, ...]:
        """Return the series in *scope* that carry *labels* (None: whatever they carry)."""
        limits = await self._limits("metrics")
        self._metric_requests += 1
        if self._metric_requests > limits.get("requests_before_429", self._metric_requests):
            raise RateLimited("metrics")
        found = await self._load("metrics", case_rows.series)
        if found is None:
            raise NotKept("metrics")
        start, end = scope.window.start.timestamp(), scope.window.end.timestamp()
        return tuple(
            Series(
                each.service,
                each.metric,
                tuple(point for point in each.points if start <= point.at <= end),
                each.labels,
            )
            for each in found
            if _allowed(each.service, scope)
            and (labels is None or set(labels.items()) <= set(each.labels))
        )

    async def trace_edges(self, scope: Scope) -> tuple[TraceEdge, ...]:
        """Return call minutes whose callee or caller is in *scope*, reference included."""
        await self._limits("traces")
        edges = await self._load("edges", case_rows.trace_edges)
        if edges is None:
            raise NotKept("traces")
        kept = [
            edge
            for edge in edges
            if (_allowed(edge.caller, scope) or _allowed(edge.callee, scope))
            and (edge.phase == "reference" or _within(edge.minute, scope.window))
        ]
        return tuple(kept[: scope.limit])

    async def spans(self, scope: Scope) -> tuple[Span, ...]:
        """Return sampled spans of services in *scope*, earlier reference spans included."""
        await self._limits("traces")
        spans = await self._load("spans", case_rows.spans)
        if spans is None:
            raise NotKept("traces")
        kept = [
            span
            for span in spans
            if _allowed(span.service, scope) and span.start <= scope.window.end
        ]
        return tuple(kept[: scope.limit])

    async def changes(self, scope: Scope) -> tuple[ChangeRecord, ...]:
        """Return change records in *scope*; records that name no service always count."""
        await self._limits("changes")
        found = await self._load("changes", case_rows.changes)
        if not found:
            raise NotKept("changes")
        kept = [
            record
            for record in found
            if _within(record.ts, scope.window)
            and _allowed(dict(record.detail).get("service", ""), scope)
        ]
        return tuple(kept[: scope.limit])

    async def cluster_state(self, scope: Scope) -> tuple[ClusterOutput, ...]:
        """Return recorded outputs of read-only cluster commands, cut to *scope.limit* lines."""
        await self._limits("cluster")
        found = await self._load("cluster", case_rows.cluster_outputs)
        if not found:
            raise NotKept("cluster state")
        return tuple(
            ClusterOutput(each.name, "\n".join(each.text.split("\n")[: scope.limit]))
            for each in found
        )

    async def _load(self, name: str, read: Callable[[Path], T]) -> T:
        if name not in self._loaded:
            self._loaded[name] = await asyncio.to_thread(read, self._path)
        return cast("T", self._loaded[name])

    async def _limits(self, kind: str) -> dict[str, Any]:
        limits = (await self._load("limits", case_rows.limits)).get(kind, {})
        if limits.get("unavailable"):
            raise SourceAway(kind)
        if limits.get("hang"):
            await asyncio.Event().wait()  # takes the question and never answers
        return limits


def _allowed(service: str, scope: Scope) -> bool:
    return not service or not scope.services or service in scope.services


def _within(at: datetime, window: Window) -> bool:
    return window.start <= at <= window.end
