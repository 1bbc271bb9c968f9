"""The log investigator's judgement: which reads it wants, and what they amount to; pure."""

from collections.abc import Sequence

from consumers.specialists.claims import STRONG, Draft, Saying, answered, ranked_candidates
from consumers.specialists.logs.answers import LogSummary, TraceSummary
from consumers.specialists.logs.suspicions import from_logs, from_traces, named_templates
from consumers.specialists.onset import alarm_at, compare_call, instant, split, stated_onset
from consumers.specialists.questions import (
    Candidate,
    Conclusion,
    Finding,
    Question,
    ToolCall,
)

SEARCH, TRACE = "search_logs@2", "read_trace@1"
# tool -> (kind of evidence, evidence types it can support)
EVIDENCE = {
    SEARCH: ("log_aggregate", ("causal_signal",)),
    TRACE: ("trace_aggregate", ("causal_signal",)),
}


def next_calls(question: Question, findings: tuple[Finding, ...]) -> tuple[ToolCall, ...]:
    """Return the reads still wanted: logs and traces once each, within the budget."""
    done = {finding.tool for finding in findings}
    left = question.budget.max_tool_calls - len(findings)
    calls = [compare_call(tool, question) for tool in (SEARCH, TRACE) if tool not in done]
    return tuple(calls[: max(left, 0)])


def conclude(question: Question, findings: tuple[Finding, ...]) -> Conclusion:
    """Return what the logs and traces show: suspected causes, first occurrence, gaps."""
    draft = Draft("log")
    logs = [
        (finding, LogSummary.model_validate(finding.content))
        for finding in answered(findings, SEARCH)
    ]
    found = [candidate for _, summary in logs for candidate in from_logs(summary)]
    for finding in answered(findings, TRACE):
        found += from_traces(TraceSummary.model_validate(finding.content))
    ranked = ranked_candidates(found, split(question).abnormal_from)
    _name_cause(draft, question, ranked, findings)
    for finding, summary in logs:
        draft.missing += summary.missing
        _note_first_occurrence(draft, summary, finding)
    _note_gaps(draft, findings)
    refs = [each.evidence_id for tool in EVIDENCE for each in answered(findings, tool)]
    draft.add_candidates("logs", ranked, refs)
    return draft.conclude(findings, _advice(ranked))


def _name_cause(
    draft: Draft,
    question: Question,
    ranked: Sequence[Candidate],
    findings: Sequence[Finding],
) -> None:
    if not ranked or ranked[0].score < STRONG:
        return
    best = ranked[0]
    draft.add(
        Saying(
            key="primary_cause",
            value=best.type,
            statement=f"{best.type} in {best.service}{_lead(question, best)}: {best.why}",
            confidence=best.score,
            subject=best.service,
        ),
        _refs(best, findings),
    )


def _refs(best: Candidate, findings: Sequence[Finding]) -> list[str]:
    """Return the findings that speak of the suspect, the one it was seen in first."""
    first, second = (TRACE, SEARCH) if best.modality == "traces" else (SEARCH, TRACE)
    named = repr(best.service)
    return [
        finding.evidence_id
        for tool in (first, second)
        for finding in answered(findings, tool)
        if tool == first or named in repr(finding.content)
    ]


def _lead(question: Question, best: Candidate) -> str:
    onset = stated_onset(question) or alarm_at(question)
    first = instant(best.onset)
    if first is None:
        return ""
    seconds = round((onset - first).total_seconds())
    # A trace minute says nothing about seconds.
    if seconds < 0 or best.modality == "traces":
        return ""
    return f" precedes the drop by {seconds} s (first seen {best.onset})"


def _note_first_occurrence(draft: Draft, summary: LogSummary, finding: Finding) -> None:
    named = named_templates(summary)
    if not named:
        return
    first = min(named, key=lambda each: each.first_seen)
    at = first.first_seen.isoformat().replace("+00:00", "Z")
    draft.add(
        Saying(
            key="first_occurrence",
            value=at,
            statement=f"first seen in {first.service} at {at}: {first.example[:160]}",
            confidence=0.9,
            subject=first.service,
        ),
        [finding.evidence_id],
    )


def _note_gaps(draft: Draft, findings: Sequence[Finding]) -> None:
    for finding in findings:
        if finding.error and "NOT_KEPT" in finding.error:
            draft.warnings.append(f"{finding.tool}: not kept for this system and window")
        elif finding.error:
            draft.missing.append(f"{finding.tool.split('@')[0]}: {finding.error[:120]}")


def _advice(ranked: Sequence[Candidate]) -> str:
    if not ranked:
        return "widen the window or name further services"
    return (
        f"compare the dependency traces of {ranked[0].service} around its first occurrence"
    )
