"""Intake decides: a signal opens a case or joins one; the first firing one starts a run. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from consumers.intake.placing import risk_of, starts_at
from consumers.intake.reactions import (
    CloseCase,
    ReceiveAlert,
    RefuseMessage,
    service_of,
)
from event_schemas.alerts import (
    AlertRaised,
    AlertReceived,
    DirectoryEntry,
    IntakeRejected,
    Placement,
)
from event_schemas.cases import (
    CaseClosed,
    CaseOpened,
    CaseSignalAdded,
    CaseSignalResolved,
    IntakeAccepted,
    Signal,
)
from event_schemas.ids import run_id, trace_id
from event_schemas.payload import Payload

RULES = 1


@dataclass(frozen=True, slots=True)
class CaseState:
    """A case as its stream tells it; *stream* is empty until the first signal."""

    case_id: str = ""
    run_id: str = ""
    accepted: bool = False
    closed: bool = False
    signals: frozenset[tuple[str, datetime]] = frozenset()


def initial() -> CaseState:
    """Return a case nobody opened."""
    return CaseState()


def decide(
    state: CaseState,
    command: ReceiveAlert | RefuseMessage | CloseCase,
    observed: "Placed | None",
    now: datetime,
) -> Sequence[Payload]:
    """Return the facts that follow from *command*."""
    if isinstance(command, RefuseMessage):
        refused = command.unplaced
        return [
            IntakeRejected(
                reason=refused.reason,
                message=command.message,
                detail=refused.detail,
                data=refused.data,
            )
        ]
    if isinstance(command, CloseCase):
        if state.closed or not state.case_id:
            return []
        return [
            CaseClosed(
                case_id=state.case_id, run_id=command.run_id, run_status=command.run_status
            )
        ]
    if observed is None:
        raise ValueError("an alert is decided on what intake observed")
    return _receive(state, command, observed, now)


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the alert goes: the case id is new or that of the case it joins."""

    case_id: str
    placement: Placement


def _receive(
    state: CaseState, command: ReceiveAlert, placed: Placed, now: datetime
) -> list[Payload]:
    alert, at = command.alert, starts_at(command, now)
    received = AlertReceived(
        message=command.message, alert=alert, observed=placed.placement
    )
    facts: list[Payload] = [received]
    if not state.case_id:
        opened = _opened(alert, at, placed)
        facts.append(opened)
        state = evolve(state, opened)
    elif alert.status == "firing":
        repeated = (alert.fingerprint, at) in state.signals
        facts.append(_added(state.case_id, alert, at, repeated=repeated))
    if alert.status == "resolved":
        facts.append(
            CaseSignalResolved(
                case_id=state.case_id,
                alert_id=alert.alert_id,
                fingerprint=alert.fingerprint,
                starts_at=at,
            )
        )
    elif not state.accepted and not state.closed:
        facts.append(_accepted(state, alert, at, placed.placement, now))
    return facts


def _opened(alert: AlertRaised, at: datetime, placed: Placed) -> CaseOpened:
    placement = placed.placement
    entry, before = placement.directory, placement.group_case
    return CaseOpened(
        case_id=placed.case_id,
        run_id=run_id(f"case/{placed.case_id}", 1),
        tenant=alert.tenant,
        environment=alert.environment,
        group=entry.group,
        service=service_of(alert) or entry.service,
        owner=entry.owner,
        risk=risk_of(alert, entry),
        alert_id=alert.alert_id,
        fingerprint=alert.fingerprint,
        signal_kind=alert.signal_kind,
        starts_at=at,
        related_case_id=before.case_id if before else None,
        related_run_id=before.run_id if before else None,
        warnings=()
        if entry.known
        else (f"service {entry.service} is not in the directory",),
    )


def _added(
    case_id: str, alert: AlertRaised, at: datetime, *, repeated: bool
) -> CaseSignalAdded:
    return CaseSignalAdded(
        case_id=case_id,
        alert_id=alert.alert_id,
        fingerprint=alert.fingerprint,
        signal_kind=alert.signal_kind,
        starts_at=at,
        repeated=repeated,
    )


def _accepted(
    state: CaseState, alert: AlertRaised, at: datetime, placement: Placement, now: datetime
) -> IntakeAccepted:
    playbook, entry = placement.playbook, placement.directory
    before = placement.group_case
    linked = before is not None and before.case_id != state.case_id
    deadline = now + timedelta(seconds=playbook.run_seconds)
    if alert.deadline_at is not None and now < alert.deadline_at < deadline:
        deadline = alert.deadline_at
    return IntakeAccepted(
        case_id=state.case_id,
        run_id=state.run_id,
        trace_id=trace_id(state.run_id),
        kind=playbook.kind,
        playbook=playbook.name,
        playbook_version=playbook.version,
        tenant=alert.tenant,
        environment=alert.environment,
        group=entry.group,
        service=service_of(alert) or entry.service,
        owner=entry.owner,
        risk=risk_of(alert, entry),
        received_at=now,
        deadline_at=deadline,
        window_start=alert.window_start or at - timedelta(seconds=playbook.before_seconds),
        window_end=alert.window_end or at + timedelta(seconds=playbook.after_seconds),
        services=_services(alert, entry),
        signal=Signal(
            alert_id=alert.alert_id,
            fingerprint=alert.fingerprint,
            signal_kind=alert.signal_kind,
            severity=alert.severity,
            starts_at=at,
            service=alert.service,
            metric=alert.metric,
            baseline=alert.baseline,
            observed=alert.observed,
            labels=alert.labels,
            annotations=alert.annotations,
        ),
        case_folder=alert.case_folder,
        related_run_id=before.run_id if before and linked else None,
        rules=RULES,
    )


def _services(alert: AlertRaised, entry: DirectoryEntry) -> tuple[str, ...]:
    """Where the run may look: the directory's group, else what the alert names, else all."""
    if entry.known:
        return entry.services
    named = service_of(alert)
    return alert.services or ((named,) if named else ("*",))


def evolve(state: CaseState, event: Payload) -> CaseState:
    """Return the case after *event*."""
    if isinstance(event, CaseOpened):
        signal = (event.fingerprint, event.starts_at)
        return replace(
            state, case_id=event.case_id, run_id=event.run_id, signals=frozenset({signal})
        )
    if isinstance(event, CaseSignalAdded):
        signal = (event.fingerprint, event.starts_at)
        return replace(state, signals=state.signals | {signal})
    if isinstance(event, IntakeAccepted):
        return replace(state, accepted=True)
    if isinstance(event, CaseClosed):
        return replace(state, closed=True)
    return state
