"""The judging part of the view: join, conflicts, gaps, reports, completion. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from event_schemas.envelope import Envelope
from event_schemas.joins import Conflict, ConflictRecorded, JoinClosed
from event_schemas.runs import (
    ConflictEscalated,
    Report,
    ReportPublished,
    ReportRevised,
    RunCompleted,
    RunStatusChanged,
)
from projections.case_view.answers import with_claims
from projections.case_view.cases import Change, instant

State = Mapping[str, Any]


def _moved(_: State, __: Envelope, fact: RunStatusChanged) -> dict[str, Any]:
    return {"status": fact.status}


def _recorded(state: State, _: Envelope, fact: ConflictRecorded) -> dict[str, Any]:
    return {"conflicts": _with(state["conflicts"], [fact.conflict])}


def _escalated(state: State, _: Envelope, fact: ConflictEscalated) -> dict[str, Any]:
    return {"conflicts": _with(state["conflicts"], [fact.conflict], escalated_to=fact.to)}


def _with(
    known: Iterable[State], new: Iterable[Conflict], **more: str
) -> list[dict[str, Any]]:
    """Return *known* with the conflicts of *new* in place of those on the same topic."""
    conflicts = {each["topic"]: dict(each) for each in known}
    for conflict in new:
        before = conflicts.get(conflict.topic, {"escalated_to": None})
        conflicts[conflict.topic] = {**before, **conflict.model_dump(mode="json"), **more}
    return list(conflicts.values())


def _joined(_: State, __: Envelope, fact: JoinClosed) -> dict[str, Any]:
    silent = [f"{name}: no result" for name in fact.missing_specialists]
    lacking = [f"evidence type {kind}" for kind in fact.missing_evidence_types]
    return {"outcome": fact.outcome, "missing": [*silent, *lacking]}


def _published(state: State, envelope: Envelope, fact: ReportPublished) -> dict[str, Any]:
    return _reported(state, envelope, fact.report)


def _revised(state: State, envelope: Envelope, fact: ReportRevised) -> dict[str, Any]:
    return {
        **_reported(state, envelope, fact.report),
        **with_claims(state, fact.task_id, fact.merged, "accepted"),
    }


def _reported(state: State, envelope: Envelope, report: Report) -> dict[str, Any]:
    """Show *report* as the current one; earlier revisions stay as they were (LATE-03)."""
    document = {
        **report.model_dump(mode="json"),
        "published_at": instant(envelope.time),
        "event_id": envelope.id,
    }
    return {
        "report": document,
        "reports": [*state["reports"], document],
        "conflicts": _with(state["conflicts"], report.conflicts),
        "missing": list(report.missing),
    }


def _completed(_: State, envelope: Envelope, fact: RunCompleted) -> dict[str, Any]:
    return {
        "status": fact.status,
        "result_status": fact.result_status,
        "outcome": fact.outcome,
        "termination_reason": fact.termination_reason,
        "recommended_action": fact.recommended_action,
        "completed_at": instant(envelope.time),
        "completion_id": envelope.id,
    }


CHANGES: dict[type, Change] = {
    RunStatusChanged: _moved,
    ConflictRecorded: _recorded,
    ConflictEscalated: _escalated,
    JoinClosed: _joined,
    ReportPublished: _published,
    ReportRevised: _revised,
    RunCompleted: _completed,
}
