"""The metric analyst's judgement: impact first, then suspects along the call graph; pure."""

from collections.abc import Iterable, Mapping, Sequence

from consumers.specialists.claims import STRONG, Draft, Saying, answered, ranked_candidates
from consumers.specialists.metrics.answers import MetricSummary, SeriesShift
from consumers.specialists.metrics.kinds import metric_kind
from consumers.specialists.metrics.suspicions import from_metrics
from consumers.specialists.onset import compare_call, split
from consumers.specialists.questions import (
    Candidate,
    Conclusion,
    Finding,
    Question,
    ToolCall,
)

QUERY = "query_metrics@1"
EVIDENCE = {QUERY: ("metric_series", ("impact_metric",))}
_PLACES = ("region", "zone", "site", "datacenter", "cluster")
_MOST_PLACES = 8
_NOTICEABLE_DROP = 0.5
_PLAIN = 10
_DOORS = ("edge", "ingress", "gateway", "frontend")


def next_calls(question: Question, findings: tuple[Finding, ...]) -> tuple[ToolCall, ...]:
    """Return the overview first, then one read per place; nothing more once a read failed."""
    if any(finding.error for finding in findings):
        return ()
    if not findings:
        return (compare_call(QUERY, question),)
    asked = [finding.arguments.get("labels") for finding in findings]
    left = question.budget.max_tool_calls - len(findings)
    wanted = [labels for labels in _breakdown(question, findings) if labels not in asked]
    return tuple(
        compare_call(QUERY, question, labels=labels) for labels in wanted[: min(left, 1)]
    )


def _breakdown(question: Question, findings: Sequence[Finding]) -> list[dict[str, str]]:
    """Return the labels of each place worth a read, those an alert names first."""
    known: dict[str, tuple[str, ...]] = {}
    for finding in answered(findings, QUERY):
        known = known or MetricSummary.model_validate(finding.content).dimensions
    named = {
        str(value) for signal in question.signals for value in _labels(signal).values()
    }
    for place in _PLACES:
        values = known.get(place, ())
        if 1 <= len(values) <= _MOST_PLACES:
            ordered = sorted(values, key=lambda value: (value not in named, value))
            return [{place: value} for value in ordered]
    return []


def _labels(signal: Mapping[str, object]) -> Mapping[str, object]:
    labels = signal.get("labels")
    return labels if isinstance(labels, Mapping) else {}


def conclude(question: Question, findings: tuple[Finding, ...]) -> Conclusion:
    """Return the impact in figures, the suspects, and which places could not be read."""
    draft = Draft("metric")
    summaries = [
        (finding, MetricSummary.model_validate(finding.content))
        for finding in answered(findings, QUERY)
    ]
    _claim_impact(draft, question, summaries)
    _note_gaps(draft, question, findings)
    for finding, summary in summaries[:1]:
        found = from_metrics(summary, fronts(question, summary))
        ranked = ranked_candidates(found, split(question).abnormal_from)
        _name_cause(draft, ranked, finding)
        draft.add_candidates("metrics", ranked, [finding.evidence_id])
    return draft.conclude(
        findings, "read the places that are missing, then what the suspects call"
    )


def _name_cause(draft: Draft, ranked: Sequence[Candidate], finding: Finding) -> None:
    """Name a cause only where a metric itself is the cause: a resource that ran out."""
    if not ranked or ranked[0].score < STRONG or ranked[0].category != "resource":
        return
    best = ranked[0]
    draft.add(
        Saying(
            key="primary_cause",
            value=best.type,
            statement=f"{best.type} in {best.service}: {best.why}",
            confidence=best.score,
            subject=best.service,
        ),
        [finding.evidence_id],
    )


def fronts(question: Question, summary: MetricSummary) -> list[str]:
    """Return the services that suffer in the user's view: those alerts name, else the doors."""
    counted = {each.service for each in summary.traffic}
    named = [str(signal["service"]) for signal in question.signals if signal.get("service")]
    labelled = [str(_labels(signal).get("service", "")) for signal in question.signals]
    found = [name for name in dict.fromkeys((*named, *labelled)) if name in counted]
    called = {callee for _, callee in summary.dependencies}
    doors = {caller for caller, _ in summary.dependencies} - called
    return found or sorted(doors & counted)


def _claim_impact(
    draft: Draft, question: Question, summaries: Sequence[tuple[Finding, MetricSummary]]
) -> None:
    moved = [
        (finding, each)
        for finding, summary in summaries
        for each in summary.series
        if _hurts(each)
    ]
    if not moved:
        return
    watched = {str(signal.get("metric") or "") for signal in question.signals}
    alerted = {str(signal.get("service") or "") for signal in question.signals}
    finding, worst = max(moved, key=lambda entry: _severity(entry[1], watched, alerted))
    name = worst.metric.removesuffix("_percent")
    value = f"{name} {_figure(worst.before.median)} -> {_figure(_worst_value(worst))}"
    draft.add(
        Saying(
            key="impact",
            value=value,
            statement=f"{worst.service}: {value}{_where_and_since(worst)}",
            confidence=0.95,
            subject=worst.service,
        ),
        [finding.evidence_id],
    )


def _where_and_since(each: SeriesShift) -> str:
    where = ", ".join(f"{key} {place}" for key, place in sorted(each.labels.items()))
    since = each.since.isoformat().replace("+00:00", "Z") if each.since else ""
    said = f" in {where}, most affected of what was read" if where else ""
    return f"{said}, since {since}" if since else said


def _hurts(each: SeriesShift) -> bool:
    kind = metric_kind(each.metric)
    if kind == "availability":
        return each.after.low < each.before.low - _NOTICEABLE_DROP
    return kind == "latency" and each.after.high > 1.2 * each.before.high


def _severity(
    each: SeriesShift, watched: set[str], alerted: set[str]
) -> tuple[bool, bool, bool, float, str]:
    """Rank what an alert watches first, then failures, then what users touch, then the size."""
    failing = metric_kind(each.metric) == "availability"
    return (
        each.metric in watched or each.metric.removesuffix("_percent") in watched,
        failing,
        each.service in alerted or any(mark in each.service.lower() for mark in _DOORS),
        each.before.low - each.after.low if failing else each.deviation,
        each.service,
    )


def _worst_value(each: SeriesShift) -> float:
    return each.after.low if metric_kind(each.metric) == "availability" else each.after.high


def _figure(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= _PLAIN else f"{value:.3g}"


def _note_gaps(draft: Draft, question: Question, findings: Sequence[Finding]) -> None:
    for finding in findings:
        if finding.error and "NOT_KEPT" in finding.error:
            draft.warnings.append("metrics: not kept for this system and window")
        elif finding.error:
            draft.warnings.append(f"{finding.tool}: {finding.error[:160]}")
    read = [finding.arguments.get("labels") for finding in answered(findings, QUERY)]
    for labels in _breakdown(question, findings):
        if labels not in read:
            draft.missing += _gap_names(labels)


def _gap_names(labels: Mapping[str, str]) -> Iterable[str]:
    return (f"metrics-{key}-{value}" for key, value in labels.items())
