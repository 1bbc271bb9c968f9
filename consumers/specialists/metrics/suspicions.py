"""From moved metrics to suspected causes, each with its reason; pure."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from consumers.specialists.metrics.answers import MetricSummary, SeriesShift
from consumers.specialists.metrics.call_graph import SURE, Suspect, suspects
from consumers.specialists.metrics.kinds import memory_unit, metric_kind
from consumers.specialists.questions import Candidate

_BUSY_PERCENT = 85.0
_FULL_PERCENT = 95.0
_GROWN = 1.25
_COMPETITOR_MIB = 3.0
_DATA_STORE = re.compile(
    r"database|\bdb\b|sql|table|dynamo|redis|mongo|cassandra|postgres|mysql|elastic|memcache",
    re.IGNORECASE,
)
_WEAK = 0.3
_FRONT_ONLY = 0.55
_CONVINCING = 0.5


def from_metrics(summary: MetricSummary, fronts: Sequence[str]) -> list[Candidate]:
    """Return what the moved metrics of *summary* point at."""
    found = [*_pressure(summary.series)]
    found += [_called(each, summary) for each in suspects(summary, fronts)]
    if not any(each.score >= _CONVINCING for each in found):
        found += _front_only(summary)
    return found + list(_moved(summary.series))


def _pressure(series: Iterable[SeriesShift]) -> Iterator[Candidate]:
    memory = {each.service: each for each in series if memory_unit(each.metric)}
    for each in series:
        kind = metric_kind(each.metric)
        if kind == "cpu" and _is_exhausted(each, _BUSY_PERCENT):
            yield _cpu(each, memory.get(each.service))
        elif kind == "memory" and _is_exhausted(each, _FULL_PERCENT):
            yield _candidate(each, ("resource", "memory_pressure"), 0.6)


def _is_exhausted(each: SeriesShift, limit: float) -> bool:
    return each.after.high >= limit and each.after.high >= _GROWN * max(each.before.high, 1)


def _cpu(each: SeriesShift, memory: SeriesShift | None) -> Candidate:
    # A competitor for the CPU brings its own memory with it; a busy loop does not.
    joined = memory is None or _grown_mib(memory) > _COMPETITOR_MIB
    kind = "cpu_contention" if joined else "cpu_hog_in_process"
    excess = min(each.after.high - _BUSY_PERCENT, 15.0)
    return _candidate(each, ("resource", kind), 0.965 + 0.002 * excess)


def _grown_mib(memory: SeriesShift) -> float:
    return (memory.after.high - memory.before.high) * memory_unit(memory.metric)


def _called(suspect: Suspect, summary: MetricSummary) -> Candidate:
    overloaded = suspect.symptom == "latency" and _is_data_store(suspect)
    sure = 1.0 if suspect.excess.surety >= SURE else 0.6
    return Candidate(
        service=suspect.service,
        category="workload" if overloaded else "service",
        type="database_request_overload" if overloaded else f"{suspect.symptom}_degraded",
        score=round((0.3 + 0.6 * suspect.share * suspect.own) * sure, 3),
        modality="metrics",
        why=_why(suspect),
        onset=_text(_first_moved(suspect, summary)),
    )


def _is_data_store(suspect: Suspect) -> bool:
    return suspect.is_leaf and _DATA_STORE.search(suspect.excess.service) is not None


def _why(suspect: Suspect) -> str:
    excess = suspect.excess
    unit = "%" if suspect.symptom == "availability" else " s"
    return (
        f"{suspect.symptom} of {excess.service} {excess.before:.4g} -> {excess.after:.4g}"
        f"{unit}, {100 * suspect.share:.0f} % of what the front suffers,"
        f" {100 * suspect.own:.0f} % of it not explained by what it calls"
    )


def _first_moved(suspect: Suspect, summary: MetricSummary) -> datetime | None:
    moved = [
        each.since
        for each in summary.series
        if each.since is not None
        and each.service == suspect.excess.service
        and metric_kind(each.metric) == suspect.symptom
    ]
    return min(moved, default=None)


def _front_only(summary: MetricSummary) -> Iterator[Candidate]:
    """Yield the services right behind the door when requests fail and nothing else shows."""
    failing = [
        each
        for each in summary.series
        if metric_kind(each.metric) == "availability"
        and each.after.low < each.before.low - 1
    ]
    seen = {each.service for each in summary.series}
    edges = [edge for edge in summary.dependencies if seen.issuperset(edge)]
    doors = sorted({caller for caller, _ in edges} - {callee for _, callee in edges})
    if failing and len(doors) == 1:
        yield _candidate(failing[0], ("code", "code_exception"), _FRONT_ONLY).model_copy(
            update={"service": doors[0]}
        )


def _moved(series: Iterable[SeriesShift]) -> Iterator[Candidate]:
    for each in series:
        if metric_kind(each.metric) == "latency" and each.deviation > 0:
            score = _WEAK * (1 - math.exp(-each.deviation / 3))
            yield _candidate(each, ("service", "latency_degraded"), score)


def _candidate(each: SeriesShift, kind: tuple[str, str], score: float) -> Candidate:
    return Candidate(
        service=each.service,
        category=kind[0],
        type=kind[1],
        score=round(score, 3),
        modality="metrics",
        why=f"{each.metric} of {each.service} {each.before.median:.4g} -> {each.after.high:.4g}"
        f" (highest before {each.before.high:.4g}, lowest now {each.after.low:.4g})",
        onset=_text(each.since),
    )


def _text(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
