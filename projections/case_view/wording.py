"""What each event says on the timeline, and how result states read. Pure (USER-05)."""

from collections.abc import Callable, Mapping
from typing import Any

from event_schemas import (
    alerts,
    artifacts,
    cases,
    deadlines,
    delegations,
    joins,
    plans,
    results,
    runs,
    tools,
)
from event_schemas.envelope import Envelope
from event_schemas.payload import Payload

State = Mapping[str, Any]

RESULT_TEXTS = {
    "completed": "complete: every question was answered",
    "partial": "partial: some of the evidence is missing; what is shown is confirmed",
    "degraded": "degraded: an optional source failed; the required evidence is complete",
    "no_data": "no data: the sources answered and hold nothing on this question",
    "blocked": "blocked: the evidence does not suffice for a judgement",
    "failed": "failed: the work itself broke; this says nothing about the incident",
}


def who(state: State, envelope: Envelope, payload: Payload) -> str:
    """Return who wrote the event: a service, or the specialist that holds the task."""
    writer = envelope.source.rpartition("/")[2]
    if writer != "specialist":
        return writer
    task = getattr(payload, "task_id", None)
    for entry in state["delegations"]:
        if entry["task_id"] == task:
            return str(entry["specialist"])
    return writer


def told(state: State, payload: Payload) -> str | None:
    """Return the line of *payload* on the timeline, None when it has none."""
    say = _LINES.get(type(payload))
    return None if say is None else say(payload)


def _tool(fact: tools.ToolCalled) -> str:
    outcome = fact.error_code or fact.outcome
    return f"called {fact.tool}: {outcome}, {fact.rows_scanned} rows"


def _submitted(fact: results.ResultSubmitted) -> str:
    status = fact.result.get("status") if isinstance(fact.result, dict) else None
    return f"submitted a result ({status or 'unreadable'})"


def _closed(fact: joins.JoinClosed) -> str:
    return f"join closed ({fact.reason}): {fact.outcome}"


def _sides(conflict: joins.Conflict) -> str:
    return " against ".join(f"{c.specialist}: {c.value}" for c in conflict.claims)


def _task_over(fact: delegations.DelegationCompleted) -> str | None:
    if fact.status == "completed":
        return None
    return f"delegation to {fact.specialist} {fact.status}: {fact.reason}"


_LINES: dict[type, Callable[[Any], str | None]] = {
    alerts.AlertReceived: lambda f: f"{f.alert.status} alert {f.alert.alert_id}",
    cases.CaseOpened: lambda f: f"case opened for {f.service}, owner {f.owner}",
    cases.CaseSignalAdded: lambda f: (
        f"{'again' if f.repeated else 'joined the case'}: {f.signal_kind}"
    ),
    cases.CaseSignalResolved: lambda f: f"alert {f.alert_id} is over",
    cases.IntakeAccepted: lambda f: f"accepted for {f.playbook}@{f.playbook_version}",
    cases.CaseClosed: lambda f: f"case closed: run {f.run_status}",
    runs.IncidentStarted: lambda f: f"run started, {f.kind} of {f.service}",
    plans.PlanAccepted: lambda f: (
        f"plan {f.version}: {', '.join(step.specialist for step in f.steps)}"
    ),
    delegations.DelegationDispatched: lambda f: f"asked {f.target} (attempt {f.attempt})",
    delegations.DelegationRejected: lambda f: f"refused the order: {f.reason}",
    delegations.LeaseExpired: lambda f: f"attempt {f.attempt} lost its lease",
    delegations.DelegationCompleted: _task_over,
    tools.ToolCalled: _tool,
    tools.ToolDenied: lambda f: f"{f.tool} denied: {f.code}",
    results.ResultSubmitted: _submitted,
    results.ResultAccepted: lambda f: f"accepted the result of {f.specialist}",
    results.ResultRejected: lambda f: f"rejected the result of {f.specialist}: {f.reason}",
    results.ResultLate: lambda f: f"late result of {f.specialist} ({f.policy})",
    results.ResultStale: lambda f: f"stale result for plan {f.plan_version}",
    results.ResultParked: lambda _: "a result came before its plan and waits",
    results.ResultHashConflict: lambda f: f"a second, different result of {f.specialist}",
    artifacts.ArtifactRejected: lambda f: f"artifact refused: {f.reason}",
    joins.ConflictRecorded: lambda f: (
        f"conflict on {f.conflict.topic}: {_sides(f.conflict)}"
    ),
    joins.JoinClosed: _closed,
    deadlines.DeadlinePassed: lambda f: f"deadline of the {f.about} passed",
    runs.ConflictEscalated: lambda f: f"conflict on {f.conflict.topic} handed to {f.to}",
    runs.ReportPublished: lambda f: f"report {f.report.revision}: {f.report.status}",
    runs.ReportRevised: lambda f: f"report {f.report.revision}: {f.because}",
    runs.RunCompleted: lambda f: f"run {f.status}, result {f.result_status}",
}
