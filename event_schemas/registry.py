"""The map of the system: every message, its payload, its topics, its one writer."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pydantic import ValidationError

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
from event_schemas.strict_json import Malformed, parse_json
from event_schemas.upcasters import UPCASTERS, upcast

Kind = Literal["outside", "decided", "input", "command"]
PREFIX = "dev.caseops."


@dataclass(frozen=True, slots=True)
class EventType:
    """One wire name: *decided* facts are decided again by replay, *input* facts are taken."""

    name: str
    payload: type[Payload]
    kind: Kind
    writer: str
    stream: str
    topics: tuple[str, ...] = ("events",)

    @property
    def dataschema(self) -> str:
        """URI of the published JSON Schema."""
        return f"urn:caseops:schema:{self.name}"


def _fact(
    name: str, payload: type[Payload], kind: Kind, writer: str, *also: str
) -> EventType:
    stream = _STREAM_OF[writer]
    return EventType(f"{PREFIX}{name}.v1", payload, kind, writer, stream, ("events", *also))


_STREAM_OF = {
    "intake": "case",
    "supervisor": "run",
    "specialist": "delegation",
    "join_engine": "join",
    "deadline_clock": "deadline",
}

REGISTRY: tuple[EventType, ...] = (
    EventType(
        f"{PREFIX}alert.raised.v1",
        alerts.AlertRaised,
        "outside",
        "producer",
        "",
        ("alerts",),
    ),
    _fact("alert.received", alerts.AlertReceived, "input", "intake"),
    _fact("intake.rejected", alerts.IntakeRejected, "decided", "intake"),
    _fact("intake.accepted", cases.IntakeAccepted, "decided", "intake"),
    _fact("case.opened", cases.CaseOpened, "decided", "intake"),
    _fact("case.signal_added", cases.CaseSignalAdded, "decided", "intake"),
    _fact("case.signal_resolved", cases.CaseSignalResolved, "decided", "intake"),
    _fact("case.closed", cases.CaseClosed, "decided", "intake"),
    _fact("incident.started", runs.IncidentStarted, "decided", "supervisor"),
    _fact("run.status_changed", runs.RunStatusChanged, "decided", "supervisor"),
    _fact("goal.created", plans.GoalCreated, "decided", "supervisor"),
    _fact("plan.accepted", plans.PlanAccepted, "decided", "supervisor"),
    _fact("delegation.created", delegations.DelegationCreated, "decided", "supervisor"),
    _fact(
        "delegation.dispatched", delegations.DelegationDispatched, "decided", "supervisor"
    ),
    _fact("delegation.completed", delegations.DelegationCompleted, "decided", "supervisor"),
    _fact("conflict.escalated", runs.ConflictEscalated, "decided", "supervisor"),
    _fact("report.published", runs.ReportPublished, "decided", "supervisor"),
    _fact("report.revised", runs.ReportRevised, "decided", "supervisor", "completions"),
    _fact("incident.completed", runs.RunCompleted, "decided", "supervisor", "completions"),
    EventType(
        f"{PREFIX}command.execute_delegation.v1",
        delegations.ExecuteDelegation,
        "command",
        "supervisor",
        "",
        ("commands",),
    ),
    EventType(
        f"{PREFIX}command.cancel_delegation.v1",
        delegations.CancelDelegation,
        "command",
        "supervisor",
        "",
        ("commands",),
    ),
    _fact("delegation.accepted", delegations.DelegationAccepted, "input", "specialist"),
    _fact("delegation.rejected", delegations.DelegationRejected, "input", "specialist"),
    _fact("lease.acquired", delegations.LeaseAcquired, "input", "specialist"),
    _fact("lease.expired", delegations.LeaseExpired, "input", "specialist"),
    _fact("policy.decided", tools.PolicyDecided, "input", "specialist"),
    _fact("tool.called", tools.ToolCalled, "input", "specialist"),
    _fact("tool.denied", tools.ToolDenied, "input", "specialist"),
    _fact("artifact.stored", artifacts.ArtifactStored, "input", "specialist"),
    _fact("result.submitted", results.ResultSubmitted, "input", "specialist"),
    _fact("join.opened", joins.JoinOpened, "decided", "join_engine"),
    _fact("join.closed", joins.JoinClosed, "decided", "join_engine"),
    _fact("result.accepted", results.ResultAccepted, "decided", "join_engine"),
    _fact("result.rejected", results.ResultRejected, "decided", "join_engine"),
    _fact("result.late", results.ResultLate, "decided", "join_engine"),
    _fact("result.stale", results.ResultStale, "decided", "join_engine"),
    _fact("result.parked", results.ResultParked, "decided", "join_engine"),
    _fact("result.hash_conflict", results.ResultHashConflict, "decided", "join_engine"),
    _fact("artifact.verified", artifacts.ArtifactVerified, "decided", "join_engine"),
    _fact("artifact.rejected", artifacts.ArtifactRejected, "decided", "join_engine"),
    _fact("conflict.recorded", joins.ConflictRecorded, "decided", "join_engine"),
    _fact("deadline.passed", deadlines.DeadlinePassed, "input", "deadline_clock"),
)

BY_NAME = {entry.name: entry for entry in REGISTRY}
BY_PAYLOAD = {entry.payload: entry for entry in REGISTRY}


def names(*payloads: type[Payload]) -> frozenset[str]:
    """Return the wire names under which *payloads* travel, old versions included."""
    current = {BY_PAYLOAD[payload].name for payload in payloads}
    old = {name for name in UPCASTERS if upcast(name, {})[0] in current}
    return frozenset(current | old)


def entry_of(name: str) -> EventType:
    """Return the registry entry of wire *name*; raise `Malformed` (`SCHEMA_UNKNOWN`)."""
    entry = BY_NAME.get(upcast(name, {})[0] if name in UPCASTERS else name)
    if entry is None:
        raise Malformed("SCHEMA_UNKNOWN", f"no registered type {name[:120]}")
    return entry


@lru_cache(maxsize=1024)
def travels(name: str, topic: str) -> bool:
    """Say whether *topic* (a short name) is one that carries messages called *name*."""
    entry = BY_NAME.get(upcast(name, {})[0] if name in UPCASTERS else name)
    return entry is not None and topic.partition(".")[0] in entry.topics


def read(envelope: Envelope) -> Payload:
    """Return the current payload of *envelope*, upcast where it is old.

    Raises `Malformed` with `SCHEMA_UNKNOWN`, `SCHEMA_INVALID`, `BAD_TEXT` or `BAD_NUMBER`.
    """
    entry = entry_of(envelope.type)
    try:
        if envelope.type == entry.name:
            return entry.payload.model_validate_json(envelope.data)
        _, data = upcast(envelope.type, parse_json(envelope.data))
        return entry.payload.model_validate(data, strict=False)
    except ValidationError as error:
        parse_json(envelope.data)  # names what is wrong with the text itself, if anything
        raise Malformed("SCHEMA_INVALID", _first_problem(error)) from error


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where or 'data'}: {first['msg']} ({error.error_count()} problem(s))"
