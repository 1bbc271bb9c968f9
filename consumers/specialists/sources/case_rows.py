"""The files of a case folder, plain or compressed, read into telemetry rows."""

import csv
import gzip
import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from consumers.specialists.questions import Window
from consumers.specialists.telemetry import (
    ChangeRecord,
    ClusterOutput,
    LogLine,
    Phase,
    Point,
    Series,
    Span,
    Topology,
    TraceEdge,
)

_LABELLED = re.compile(r"^(?P<name>[^{]+)\{(?P<labels>.*)\}$")
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
_CHANGE_FIELDS = frozenset({"ts", "source", "kind", "summary", "actor", "ts_precision"})


def _text(folder: Path, name: str) -> str | None:
    if (folder / name).is_file():
        return (folder / name).read_text("utf-8", "replace")
    packed = folder / f"{name}.gz"
    if packed.is_file():
        return gzip.decompress(packed.read_bytes()).decode("utf-8", "replace")
    return None


def instant(text: str) -> datetime:
    """Return the ISO time *text* as an aware UTC datetime, cut to microseconds."""
    at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    # Not splitlines: a message may hold a character that only Unicode takes for a line end.
    for line in text.split("\n"):
        if line.strip():
            yield json.loads(line)


def log_lines(
    folder: Path, phase: Phase, lost_shards: frozenset[str]
) -> tuple[LogLine, ...] | None:
    """Return the lines of one *phase* that no lost shard held, in time order."""
    name = "logs.jsonl" if phase == "window" else "logs_reference.jsonl"
    text = _text(folder, name)
    if text is None:
        return None
    rows = (row for row in _objects(text) if row.get("shard") not in lost_shards)
    return tuple(sorted((_log_line(row, phase) for row in rows), key=lambda line: line.ts))


def _log_line(row: dict[str, Any], phase: Phase) -> LogLine:
    return LogLine(
        ts=instant(row["ts"]),
        service=row.get("service") or "",
        pod=row.get("pod") or "",
        level=(row.get("level") or "UNKNOWN").upper(),
        logger=row.get("logger") or "",
        trace_id=row.get("trace_id") or "",
        span_id=row.get("span_id") or "",
        message=row.get("msg") or "",
        phase=phase,
    )


def series(folder: Path) -> tuple[Series, ...] | None:
    """Return the metric series; labels stand in the metric column as in PromQL."""
    text = _text(folder, "metrics.csv")
    if text is None:
        return None
    points: dict[tuple[str, str], list[Point]] = {}
    seconds: dict[str, float] = {}
    for row in csv.DictReader(text.split("\n")):
        value = float(row["value"] or "nan")
        if not math.isfinite(value):
            continue
        at = row["timestamp"]
        if at not in seconds:
            seconds[at] = instant(at).timestamp()
        points.setdefault((row["service"], row["metric"]), []).append(
            Point(seconds[at], value)
        )
    return tuple(
        _series(service, column, sorted(rows)) for (service, column), rows in points.items()
    )


def _series(service: str, column: str, rows: list[Point]) -> Series:
    matched = _LABELLED.match(column)
    if matched is None:
        return Series(service, column, tuple(rows))
    labels = tuple(sorted(_LABEL.findall(matched["labels"])))
    return Series(service, matched["name"], tuple(rows), labels)


def trace_edges(folder: Path) -> tuple[TraceEdge, ...] | None:
    """Return the minute rows of calls between services."""
    text = _text(folder, "trace_edges.csv")
    if text is None:
        return None
    return tuple(_trace_edge(row) for row in csv.DictReader(text.split("\n")))


def _trace_edge(row: dict[str, str]) -> TraceEdge:
    gap = row["client_gap_p50_ms"]
    return TraceEdge(
        minute=instant(row["minute"]),
        phase="reference" if row["phase"] == "reference" else "window",
        caller=row["caller"],
        callee=row["callee"],
        operation=row["operation"],
        spans=int(row["spans"]),
        p50_ms=float(row["p50_ms"]),
        p95_ms=float(row["p95_ms"]),
        max_ms=float(row["max_ms"]),
        client_gap_p50_ms=float(gap) if gap else None,
    )


def spans(folder: Path) -> tuple[Span, ...] | None:
    """Return the spans of the sampled traces."""
    text = _text(folder, "traces_sample.jsonl")
    if text is None:
        return None
    return tuple(_span(row) for row in _objects(text))


def _span(row: dict[str, Any]) -> Span:
    return Span(
        trace_id=row["trace_id"],
        span_id=row["span_id"],
        parent_id=row.get("parent_id"),
        service=row["service"],
        operation=row.get("op") or row.get("operation") or "",
        start=instant(row["start"]),
        duration_ms=float(row["duration_ms"]),
        status=str(row.get("status") or ""),
    )


def changes(folder: Path) -> tuple[ChangeRecord, ...] | None:
    """Return the change records in time order, unknown fields kept as detail."""
    text = _text(folder, "changes.jsonl")
    if text is None:
        return None
    return tuple(sorted((_change(row) for row in _objects(text)), key=lambda each: each.ts))


def _change(row: dict[str, Any]) -> ChangeRecord:
    return ChangeRecord(
        ts=instant(row["ts"]),
        source=str(row.get("source") or ""),
        kind=str(row.get("kind") or ""),
        target=str(row.get("target") or row.get("object") or ""),
        summary=str(row.get("summary") or ""),
        actor=str(row.get("actor") or ""),
        reason=str(row.get("reason") or ""),
        severity=str(row.get("type") or ""),
        ts_precision=str(row.get("ts_precision") or "exact"),
        detail=tuple(
            sorted((key, str(row[key])) for key in row.keys() - _CHANGE_FIELDS if row[key])
        ),
    )


def cluster_outputs(folder: Path) -> tuple[ClusterOutput, ...]:
    """Return the recorded outputs of read-only cluster commands."""
    return tuple(
        ClusterOutput(path.stem, path.read_text("utf-8", "replace"))
        for path in sorted((folder / "artifacts").glob("*.txt"))
    )


def limits(folder: Path) -> dict[str, dict[str, Any]]:
    """Return how the sources of this case are broken or limited, empty when they are not."""
    text = _text(folder, "limits.json")
    return json.loads(text) if text else {}


def topology(folder: Path) -> Topology:
    """Return what `context.json` says about the system."""
    context = json.loads((folder / "context.json").read_text("utf-8"))
    window = context["window"]
    return Topology(
        services=tuple(context["services"]),
        candidate_services=tuple(context.get("candidate_services", context["services"])),
        dependencies=tuple(
            (edge["caller"], edge["callee"]) for edge in context.get("dependencies", ())
        ),
        component_of=dict(context.get("component_of", {})),
        window=Window(instant(window["start"]), instant(window["end"])),
        metrics_step_seconds=context.get("metrics_step_seconds"),
        notes=tuple(context.get("notes", ())),
        kinds={kind: bool(kept) for kind, kept in context.get("modalities", {}).items()},
    )
