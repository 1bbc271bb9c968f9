"""From aggregated logs and traces to suspected causes, each with its reason; pure."""

import math
import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from consumers.specialists.logs.answers import (
    EdgeShift,
    FlowBreak,
    LogSummary,
    Template,
    TraceSummary,
)
from consumers.specialists.logs.templates import ERRORS
from consumers.specialists.logs.wordings import failure_kind
from consumers.specialists.questions import Candidate

# A gap below this is scheduling noise; above it, the wire or the callee's queue is slow.
_GAP_MS = 50.0
_NAMED = 0.84
_NAMED_ONCE = 0.6
_CERTAINTY = 12.0
# Traces are sampled: a few dozen paths vary more by chance than the full logs do.
_CERTAINTY_SAMPLED = 20.0
_NEW_ERROR = 0.45
_CALLER_SHARE = 0.8
_FEW = 3
_BESIDE = 6
_CALLS = 5
_ERROR_WORDS = re.compile(r"error|exception|fail|traceback|panic|fatal", re.IGNORECASE)


def from_logs(summary: LogSummary) -> list[Candidate]:
    """Return what the messages and the broken flows of *summary* point at."""
    found = [*_named(summary), *_new_errors(summary)]
    return found + [
        _broken(each, "logs") for each in summary.breaks if each.kind != "other"
    ]


def from_traces(summary: TraceSummary) -> list[Candidate]:
    """Return what slow wires and broken call paths of *summary* point at."""
    wide = [edge for edge in summary.edges if _gap(edge) >= _GAP_MS]
    found = [_slow_wire(edge) for edge in wide] + list(_contended(wide))
    for each in summary.breaks:
        if each.kind != "other":
            found += _cut_paths(each)
    return found


def named_templates(summary: LogSummary) -> list[Template]:
    """Return the templates that name a kind of failure and were not normal before."""
    return [
        each
        for each in summary.templates
        if failure_kind(each.example) is not None
        and (not summary.baseline_lines or _is_new(each))
    ]


def _is_new(template: Template) -> bool:
    rare = template.baseline == 0 or template.total > 10 * template.baseline
    return rare and template.total > 0


def _named(summary: LogSummary) -> Iterator[Candidate]:
    for each in named_templates(summary):
        kind = failure_kind(each.example)
        if kind is not None:
            yield Candidate(
                service=each.service,
                category=kind.category,
                type=kind.type,
                score=_NAMED if each.total > 1 else _NAMED_ONCE,
                modality="logs",
                why=f"{each.total} line(s) like: {each.example[:160]}{_beside(each, summary)}",
                onset=_text(each.first_seen),
            )


def _beside(named: Template, summary: LogSummary) -> str:
    """Return what else is new in the same service, what led to the first such line first."""
    others = [
        each
        for each in summary.templates
        if each.service == named.service and each != named and not each.baseline
    ]
    others.sort(key=lambda each: _distance(named.first_seen, each.first_seen))
    said = "; ".join(each.example[:80] for each in others[:_BESIDE])
    return f" (beside it: {said})" if said else ""


def _distance(named: datetime, other: datetime) -> tuple[bool, float]:
    return other > named, abs((other - named).total_seconds())


def _new_errors(summary: LogSummary) -> Iterator[Candidate]:
    few = _FEW if summary.baseline_lines else 1
    for each in summary.templates:
        if not _is_error(each) or each.baseline or each.total < few:
            continue
        yield Candidate(
            service=each.service,
            category="code",
            type="code_exception",
            score=round(_NEW_ERROR * (1 - math.exp(-each.total / _CERTAINTY)), 3),
            modality="logs",
            why=f"error template appears only after the onset, {each.total} lines:"
            f" {each.template}",
            onset=_text(each.first_seen),
        )


def _is_error(template: Template) -> bool:
    if failure_kind(template.example) is not None:
        return False
    if template.level == "UNKNOWN":
        return _ERROR_WORDS.search(template.example) is not None
    return template.level in ERRORS


def _broken(each: FlowBreak, modality: str) -> Candidate:
    handled = each.kind == "error_branch"
    return Candidate(
        service=each.service,
        category="code",
        type="code_wrong_return" if handled else "code_exception",
        score=_certainty(each.strength, modality),
        modality=modality,
        why=f"flow {each.kind.replace('_', ' ')} at {each.place}:"
        f" {_steps(each.before)} before, {_steps(each.after)} after",
    )


def _cut_paths(each: FlowBreak) -> list[Candidate]:
    """Return who may have cut a path short: whoever was called last, else the caller itself."""
    caller = _broken(each, "traces")
    if each.kind != "cut_short" or not each.also:
        return [caller]
    callee = caller.model_copy(update={"service": each.also[0]})
    weaker = round(caller.score * _CALLER_SHARE, 3)
    return [callee, caller.model_copy(update={"score": weaker})]


def _slow_wire(edge: EdgeShift) -> Candidate:
    return Candidate(
        service=edge.callee,
        category="network",
        type="network_delay",
        score=round(_support(edge.spans_after) * (0.55 + 0.41 * _saturated(_gap(edge))), 3),
        modality="traces",
        why=f"client-server gap {edge.caller} -> {edge.callee}"
        f" {_ms(edge.gap_before)} -> {_ms(edge.gap_after)}",
        onset=_text(edge.gap_since),
    )


def _contended(wide: Iterable[EdgeShift]) -> Iterator[Candidate]:
    """Yield services whose calls to several others are all late: the caller is starved."""
    callees: dict[str, list[EdgeShift]] = {}
    for edge in wide:
        callees.setdefault(edge.caller, []).append(edge)
    for caller, edges in callees.items():
        slow_for_others = {edge.callee for edge in wide if edge.caller != caller}
        own = [edge for edge in edges if edge.callee not in slow_for_others]
        if len(own) > 1:
            yield Candidate(
                service=caller,
                category="resource",
                type="cpu_contention",
                score=round(max(_slow_wire(edge).score for edge in own) + 0.01, 3),
                modality="traces",
                why=f"calls to {len(own)} services all wait in the caller,"
                f" e.g. {own[0].callee} {_ms(own[0].gap_before)} -> {_ms(own[0].gap_after)}",
                onset=_text(min((e.gap_since for e in own if e.gap_since), default=None)),
            )


def _saturated(gap_ms: float) -> float:
    return 1 - math.exp(-gap_ms / 100)


def _support(calls: int) -> float:
    """Return how far so many *calls* can be trusted: one pause must not look like a trend."""
    return 1.0 if calls >= _CALLS else calls / (_CALLS + 1)


def _gap(edge: EdgeShift) -> float:
    return (edge.gap_after or 0.0) - max(edge.gap_before or 0.0, 0.0)


def _certainty(strength: float, modality: str) -> float:
    scale = _CERTAINTY_SAMPLED if modality == "traces" else _CERTAINTY
    return round(min(0.9, 1 - math.exp(-max(strength, 0) / scale)), 3)


def _steps(counts: dict[str, int]) -> str:
    return ", ".join(f"{step[-60:]} x{count}" for step, count in list(counts.items())[:3])


def _ms(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f} ms"


def _text(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
