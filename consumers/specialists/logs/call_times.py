"""Calls between services compared: durations and the gap between client and server; pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from consumers.specialists.logs.answers import EdgeShift
from consumers.specialists.onset import Split
from consumers.specialists.telemetry import TraceEdge

ENTRY = "(entry)"
_KEPT = 120
_MINUTE = timedelta(minutes=1)
# A gap below this is scheduling noise between two clocks, whatever it was before.
_NOTICEABLE_MS = 30.0

Weighted = list[tuple[float, int]]


def edge_shifts(edges: Iterable[TraceEdge], sides: Split) -> tuple[EdgeShift, ...]:
    """Return how calls between two services changed, the widest client-server gap first."""
    pairs: dict[tuple[str, str], list[TraceEdge]] = {}
    for edge in edges:
        if edge.caller not in (edge.callee, ENTRY):
            pairs.setdefault((edge.caller, edge.callee), []).append(edge)
    shifts = [_shift(pair, rows, sides) for pair, rows in sorted(pairs.items())]
    shifts.sort(key=lambda each: -((each.gap_after or 0) - max(each.gap_before or 0, 0)))
    return tuple(shifts[:_KEPT])


def entry_services(edges: Iterable[TraceEdge]) -> tuple[str, ...]:
    """Return the services where requests come in."""
    return tuple(sorted({edge.callee for edge in edges if edge.caller == ENTRY}))


def _shift(pair: tuple[str, str], rows: list[TraceEdge], sides: Split) -> EdgeShift:
    # A minute is abnormal when at least half of it lies behind the onset.
    since = sides.abnormal_from - _MINUTE / 2
    before = [
        row
        for row in rows
        if row.phase == "reference" or row.minute + _MINUTE <= sides.baseline_until
    ]
    after = [row for row in rows if row.phase == "window" and row.minute >= since]
    gap_before = _median(_gaps(before))
    return EdgeShift(
        caller=pair[0],
        callee=pair[1],
        spans_before=sum(row.spans for row in before),
        spans_after=sum(row.spans for row in after),
        p95_before=_median([(row.p95_ms, row.spans) for row in before]),
        p95_after=_median([(row.p95_ms, row.spans) for row in after]),
        gap_before=gap_before,
        gap_after=_median(_gaps(after)),
        gap_since=_since(
            [row for row in rows if row not in before],
            max(gap_before or 0.0, 0.0) + _NOTICEABLE_MS,
        ),
    )


def _gaps(rows: Iterable[TraceEdge]) -> Weighted:
    return [
        (row.client_gap_p50_ms, row.spans)
        for row in rows
        if row.client_gap_p50_ms is not None
    ]


def _since(rows: Iterable[TraceEdge], limit: float) -> datetime | None:
    wide = [
        row.minute
        for row in rows
        if row.phase == "window" and (row.client_gap_p50_ms or 0.0) > limit
    ]
    return min(wide, default=None)


def _median(values: Weighted) -> float | None:
    total = sum(weight for _, weight in values)
    seen = 0
    for value, weight in sorted(values):
        seen += weight
        if 2 * seen >= total:
            return round(value, 2)
    return None
