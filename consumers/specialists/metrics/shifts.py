"""Metric series compared with their own past; pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from statistics import median

from consumers.specialists.metrics.answers import SeriesShift, Spread
from consumers.specialists.metrics.kinds import metric_kind
from consumers.specialists.onset import Split
from consumers.specialists.telemetry import Point, Series

_KEPT = 200
_ALWAYS = frozenset({"availability", "cpu"})
_LEAST = 3


def shifts(series: Iterable[Series], sides: Split) -> tuple[SeriesShift, ...]:
    """Return how series moved, the kinds a judgement needs first, then the most deviant."""
    found = [shift for each in series if (shift := _shift(each, sides)) is not None]
    found.sort(
        key=lambda each: (
            metric_kind(each.metric) not in _ALWAYS,
            -each.deviation,
            each.service,
            each.metric,
        )
    )
    return tuple(found[:_KEPT])


def _shift(series: Series, sides: Split) -> SeriesShift | None:
    until, since = sides.baseline_until.timestamp(), sides.abnormal_from.timestamp()
    before = [point.value for point in series.points if point.at < until]
    after = [point.value for point in series.points if point.at >= since]
    if len(before) < _LEAST or not after:
        return None
    was, now = _spread(before), _spread(after)
    return SeriesShift(
        service=series.service,
        metric=series.metric,
        labels=dict(series.labels),
        before=was,
        after=now,
        since=_since(series.points, was, until),
        deviation=round(_deviation(was, now), 3),
    )


def _spread(values: Sequence[float]) -> Spread:
    return Spread(
        count=len(values),
        low=round(min(values), 6),
        median=round(median(values), 6),
        high=round(max(values), 6),
    )


def _margin(was: Spread) -> float:
    return max(0.1 * (was.high - was.low), 0.002 * abs(was.median), 1e-9)


def _deviation(was: Spread, now: Spread) -> float:
    """Return how far the series left its own band, in widths of that band."""
    width = max(was.high - was.low, 0.05 * abs(was.median), 1e-9)
    return max(now.high - was.high, was.low - now.low, 0.0) / width


def _since(points: Iterable[Point], was: Spread, until: float) -> datetime | None:
    margin = _margin(was)
    outside = [
        point.at
        for point in points
        if point.at >= until and not was.low - margin <= point.value <= was.high + margin
    ]
    return datetime.fromtimestamp(min(outside), UTC) if outside else None
