"""Where a service's flow goes another way than before: what follows what, compared; pure."""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from consumers.specialists.logs.answers import BreakKind, FlowBreak
from consumers.specialists.logs.templates import (
    ERRORS,
    is_abnormal,
    is_baseline,
    statement,
)
from consumers.specialists.onset import Split
from consumers.specialists.telemetry import LogLine, Span

START, END = "start", "end"
Place = tuple[str, str]
Follows = dict[Place, Counter[str]]

_KEPT = 40
_ENOUGH = 2
_NOTICEABLE = 0.2


def log_breaks(lines: Iterable[LogLine], sides: Split) -> tuple[FlowBreak, ...]:
    """Return the places where log statements of one span are followed by others than before."""
    lines = tuple(lines)
    before = _log_follows(line for line in lines if is_baseline(line, sides))
    after = _log_follows(line for line in lines if is_abnormal(line, sides))
    return _breaks(before, after)


def _log_follows(lines: Iterable[LogLine]) -> Follows:
    spans: dict[tuple[str, str, str], list[str]] = {}
    for line in lines:
        if line.span_id:
            key = (line.trace_id, line.span_id, line.service)
            spans.setdefault(key, []).append(statement(line))
    follows: Follows = {}
    for (_, _, service), statements in spans.items():
        for here, after in pairwise([*statements, END]):
            follows.setdefault((service, here), Counter())[after] += 1
    return follows


def span_breaks(spans: Iterable[Span], sides: Split) -> tuple[FlowBreak, ...]:
    """Return the places where an operation's child calls follow each other differently."""
    spans = tuple(spans)
    children = _children(spans)
    called = _called(spans, children)
    before = _span_follows(
        [span for span in spans if span.start < sides.baseline_until], children
    )
    after = _span_follows(
        [span for span in spans if span.start >= sides.abnormal_from], children
    )
    return tuple(
        each.model_copy(update={"also": called.get((each.service, each.place), ())})
        for each in _breaks(before, after)
    )


def _children(spans: Iterable[Span]) -> dict[tuple[str, str], list[Span]]:
    children: dict[tuple[str, str], list[Span]] = {}
    for span in spans:
        if span.parent_id:
            children.setdefault((span.trace_id, span.parent_id), []).append(span)
    for calls in children.values():
        calls.sort(key=lambda call: call.start)
    return children


def _span_follows(
    spans: Iterable[Span], children: dict[tuple[str, str], list[Span]]
) -> Follows:
    follows: Follows = {}
    for parent in spans:
        steps = [
            call.operation for call in children.get((parent.trace_id, parent.span_id), ())
        ]
        for here, after in pairwise([*steps, END]):
            follows.setdefault(_place(parent, here), Counter())[after] += 1
    return follows


def _place(parent: Span, step: str) -> Place:
    return (parent.service, f"{parent.operation} > {step}")


def _called(
    spans: Iterable[Span], children: dict[tuple[str, str], list[Span]]
) -> dict[Place, tuple[str, ...]]:
    """Return which other service each step of an operation calls, directly or as a client."""
    called: dict[Place, tuple[str, ...]] = {}
    for parent in spans:
        for step in children.get((parent.trace_id, parent.span_id), ()):
            served = [step, *children.get((step.trace_id, step.span_id), ())]
            others = [each.service for each in served if each.service != parent.service]
            if others:
                called[_place(parent, step.operation)] = (others[0],)
    return called


def silent_breaks(
    spans: Iterable[Span], lines: Iterable[LogLine], sides: Split
) -> tuple[FlowBreak, ...]:
    """Return operations that used to log and are still called, but say nothing any more."""
    before, after = _sayings(tuple(spans), lines, sides)
    return tuple(
        _break(place, before[place], after[place], "silent")
        for place in sorted(before.keys() & after.keys())
        if _fell_silent(before[place], after[place])
    )


def _sayings(
    spans: tuple[Span, ...], lines: Iterable[LogLine], sides: Split
) -> tuple[Follows, Follows]:
    logged = {(line.trace_id, line.span_id) for line in lines if line.span_id}
    children = _children(spans)
    before: Follows = {}
    after: Follows = {}
    for span in spans:
        side = _side(span, sides, before, after)
        if side is not None:
            said = "logs" if (span.trace_id, span.span_id) in logged else "silent"
            steps = children.get((span.trace_id, span.span_id), ())
            # Overloads of one operation are told apart by what they call first.
            name = " > ".join(
                (START, span.operation, *(step.operation for step in steps[:1]))
            )
            side.setdefault((span.service, name), Counter())[said] += 1
    return before, after


def _side(span: Span, sides: Split, before: Follows, after: Follows) -> Follows | None:
    if span.start < sides.baseline_until:
        return before
    return after if span.start >= sides.abnormal_from else None


def _fell_silent(before: Counter[str], after: Counter[str]) -> bool:
    return (
        before["logs"] > _ENOUGH
        and before["logs"] >= 4 * before["silent"]
        and after["silent"] > _ENOUGH
        and after["silent"] >= after["logs"]
    )


def _breaks(before: Follows, after: Follows) -> tuple[FlowBreak, ...]:
    found = [
        _break(place, before[place], after[place], _kind(before[place], after[place]))
        for place in before.keys() & after.keys()
        if min(before[place].total(), after[place].total()) >= _ENOUGH
    ]
    strong = [each for each in found if each.strength > 1]
    return tuple(sorted(strong, key=lambda each: (-each.strength, each.place))[:_KEPT])


def _break(
    place: Place, before: Counter[str], after: Counter[str], kind: BreakKind
) -> FlowBreak:
    return FlowBreak(
        service=place[0],
        place=place[1],
        kind=kind,
        before=dict(before.most_common(4)),
        after=dict(after.most_common(4)),
        strength=round(_divergence(before, after), 2),
    )


def _kind(before: Counter[str], after: Counter[str]) -> BreakKind:
    grown = {
        step: after[step] / after.total() - before[step] / before.total() for step in after
    }
    errors = sum(gain for step, gain in grown.items() if _is_error(step) and gain > 0)
    ended = grown.get(END, 0.0)
    if errors >= max(ended, _NOTICEABLE):
        return "error_branch"
    return "cut_short" if ended >= _NOTICEABLE else "other"


def _is_error(step: str) -> bool:
    return step.rpartition("|")[2] in ERRORS


def _divergence(before: Counter[str], after: Counter[str]) -> float:
    """Return how surely the two counts differ: G statistic less its degrees of freedom."""
    steps = before.keys() | after.keys()
    every = before.total() + after.total()
    g = 0.0
    for side in (before, after):
        for step in steps:
            expected = (before[step] + after[step]) * side.total() / every
            if side[step]:
                g += 2 * side[step] * math.log(side[step] / expected)
    return g - (len(steps) - 1)
