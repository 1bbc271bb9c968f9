"""The change auditor's judgement: what changed close to the onset, what the cluster says; pure."""

from collections.abc import Sequence

from consumers.specialists.changes.answers import Change, ChangeList, ClusterState, Output
from consumers.specialists.changes.suspicions import (
    CLOSE,
    COINCIDENCE,
    EVENT,
    change_type,
    closest,
    coincidence,
    suspects,
    told_time,
)
from consumers.specialists.claims import STRONG, Draft, Saying, answered, ranked_candidates
from consumers.specialists.onset import alarm_at, split, stated_onset
from consumers.specialists.questions import (
    Candidate,
    Conclusion,
    Finding,
    Question,
    ToolCall,
)

LIST, STATE = "list_changes@1", "read_cluster_state@1"
EVIDENCE = {
    LIST: ("change_record", ("causal_signal",)),
    STATE: ("cluster_state", ("causal_signal",)),
}


def next_calls(question: Question, findings: tuple[Finding, ...]) -> tuple[ToolCall, ...]:
    """Return the reads still wanted: change records and cluster state once each."""
    done = {finding.tool for finding in findings}
    left = question.budget.max_tool_calls - len(findings)
    arguments = {"services": list(question.services)}
    calls = [
        ToolCall(tool=tool, arguments=dict(arguments))
        for tool in (LIST, STATE)
        if tool not in done
    ]
    return tuple(calls[: max(left, 0)])


def conclude(question: Question, findings: tuple[Finding, ...]) -> Conclusion:
    """Return the change closest before the onset, and the cluster's own complaints."""
    draft = Draft("change")
    candidates: list[Candidate] = []
    for finding in answered(findings, LIST):
        records = ChangeList.model_validate(finding.content).records
        candidates += _judge_changes(draft, question, records, finding)
        candidates += _judge_events(draft, question, records, finding)
    for finding in answered(findings, STATE):
        outputs = ClusterState.model_validate(finding.content).outputs
        candidates += _judge_state(draft, question, outputs, finding)
    for finding in findings:
        if finding.error and "NOT_KEPT" in finding.error:
            draft.warnings.append(f"{finding.tool}: not kept for this system and window")
        elif finding.error:
            draft.missing.append(f"{finding.tool.split('@')[0]}: {finding.error[:120]}")
    refs = [each.evidence_id for tool in EVIDENCE for each in answered(findings, tool)]
    ranked = ranked_candidates(candidates, split(question).abnormal_from)
    draft.add_candidates("changes", ranked, refs)
    return draft.conclude(
        findings, "ask the owner of the change for its content, change nothing"
    )


def _judge_changes(
    draft: Draft, question: Question, records: Sequence[Change], finding: Finding
) -> list[Candidate]:
    changes = [each for each in records if each.kind != EVENT]
    close = closest(changes, alarm_at(question))
    if not changes:
        return []
    if close is None:
        draft.add(
            Saying(
                key="correlated_change",
                value="none",
                statement=f"{len(changes)} change record(s), none in the"
                f" {CLOSE.seconds // 60} minutes before the onset",
                confidence=0.8,
            ),
            [finding.evidence_id],
        )
        return []
    _claim_change(draft, question, close, finding)
    return [coincidence(close)]


def _claim_change(
    draft: Draft, question: Question, change: Change, finding: Finding
) -> None:
    onset = stated_onset(question) or alarm_at(question)
    seconds = round((onset - change.ts).total_seconds())
    apart = f"{seconds} s before" if seconds >= 0 else f"{-seconds} s after"
    draft.warnings.append(
        f"only the time of the change to {change.target} is known, not its content:"
        " closeness in time is no proof of cause"
    )
    draft.add(
        Saying(
            key="primary_cause",
            value=change_type(change),
            statement=f"{change.kind} of {change.target} at {told_time(change)}, {apart} the onset",
            confidence=COINCIDENCE,
            subject=change.service or change.target,
            inference=True,
        ),
        [finding.evidence_id],
    )


def _judge_events(
    draft: Draft, question: Question, records: Sequence[Change], finding: Finding
) -> list[Candidate]:
    loud = [
        each
        for each in records
        if each.kind == EVENT and each.severity.lower() == "warning"
    ]
    if not loud:
        return []
    said = [f"{each.reason} {each.target}: {each.summary}" for each in loud]
    draft.add(
        Saying(
            key="cluster_events",
            value=", ".join(sorted({each.reason for each in loud if each.reason}))
            or "warning",
            statement="; ".join(text[:200] for text in said[-5:]),
            confidence=0.9,
        ),
        [finding.evidence_id],
    )
    outputs = [Output(name="events", text="\n".join(said))]
    return list(suspects(question.services, outputs))


def _judge_state(
    draft: Draft, question: Question, outputs: Sequence[Output], finding: Finding
) -> list[Candidate]:
    found = list(suspects(question.services, outputs))
    ranked = ranked_candidates(found, split(question).abnormal_from)
    if ranked and ranked[0].score >= STRONG:
        draft.add(
            Saying(
                key="primary_cause",
                value=ranked[0].type,
                statement=f"{ranked[0].type} of {ranked[0].service}: {ranked[0].why}",
                confidence=ranked[0].score,
                subject=ranked[0].service,
            ),
            [finding.evidence_id],
        )
    return found
