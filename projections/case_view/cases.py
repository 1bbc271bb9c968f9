"""The case part of the view: signals, owner, window, and the run's beginning. Pure."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from event_schemas.alerts import AlertReceived
from event_schemas.cases import (
    CaseClosed,
    CaseOpened,
    CaseSignalAdded,
    CaseSignalResolved,
    IntakeAccepted,
)
from event_schemas.envelope import Envelope
from event_schemas.runs import IncidentStarted

State = Mapping[str, Any]
Change = Callable[[State, Envelope, Any], dict[str, Any]]


def instant(at: datetime | None) -> str | None:
    """Return *at* as the view writes times."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def _received(state: State, envelope: Envelope, fact: AlertReceived) -> dict[str, Any]:
    alert, entry = fact.alert, fact.observed.directory
    case = state["case"] or {
        "case_id": (envelope.subject or "").removeprefix("case/"),
        "tenant": alert.tenant,
        "environment": alert.environment,
        "group": entry.group,
        "service": alert.service or entry.service,
        "owner": entry.owner,
        "risk": entry.risk,
        "status": "open",
        "opened_at": instant(envelope.time),
        "signals": [],
        "metrics": [],
        "warnings": [],
        "related_case_id": None,
    }
    metrics = case["metrics"]
    if alert.metric and alert.metric not in metrics:
        metrics = [*metrics, alert.metric]
    return {"case": {**case, "metrics": metrics}}


def _opened(state: State, _: Envelope, fact: CaseOpened) -> dict[str, Any]:
    case = {
        **state["case"],
        "service": fact.service,
        "owner": fact.owner,
        "risk": fact.risk,
        "related_case_id": fact.related_case_id,
        "warnings": list(fact.warnings),
    }
    return _with_signal(case, fact)


def _added(state: State, _: Envelope, fact: CaseSignalAdded) -> dict[str, Any]:
    return _with_signal(state["case"], fact)


def _with_signal(case: State, fact: CaseOpened | CaseSignalAdded) -> dict[str, Any]:
    """Count a signal once, however often it fires: fingerprint and start name it (INT-01)."""
    signal = {
        "alert_id": fact.alert_id,
        "fingerprint": fact.fingerprint,
        "signal_kind": fact.signal_kind,
        "starts_at": instant(fact.starts_at),
        "resolved": False,
    }
    if _find(case, signal) is not None:
        return {"case": case}
    signals = [*case["signals"], signal]
    return {"case": {**case, "signals": signals}, "signals": len(signals)}


def _resolved(state: State, _: Envelope, fact: CaseSignalResolved) -> dict[str, Any]:
    case: State = state["case"]
    over = {"fingerprint": fact.fingerprint, "starts_at": instant(fact.starts_at)}
    signals = [
        {**each, "resolved": True} if _name(each) == _name(over) else each
        for each in case["signals"]
    ]
    return {"case": {**case, "signals": signals}}


def _find(case: State, signal: State) -> State | None:
    name = _name(signal)
    return next((each for each in case["signals"] if _name(each) == name), None)


def _name(signal: State) -> tuple[str, str]:
    return signal["fingerprint"], signal["starts_at"]


def _closed(state: State, _: Envelope, fact: CaseClosed) -> dict[str, Any]:
    return {"case": {**state["case"], "status": "closed"}}


def _accepted(_: State, envelope: Envelope, fact: IntakeAccepted) -> dict[str, Any]:
    return {
        "run_id": fact.run_id,
        "case_id": fact.case_id,
        "kind": fact.kind,
        "playbook": f"{fact.playbook}@{fact.playbook_version}",
        "tenant": fact.tenant,
        "environment": fact.environment,
        "group": fact.group,
        "service": fact.service,
        "services": list(fact.services),
        "owner": fact.owner,
        "risk": fact.risk,
        "status": "received",
        "started_at": instant(fact.received_at),
        "completed_at": None,
        "deadline_at": instant(fact.deadline_at),
        "window": {
            "start": instant(fact.window_start),
            "end": instant(fact.window_end),
        },
        "related_run_id": fact.related_run_id,
        "trace_id": fact.trace_id,
    }


def _started(_: State, envelope: Envelope, fact: IncidentStarted) -> dict[str, Any]:
    return {"kind": fact.kind, "deadline_at": instant(fact.deadline_at)}


CHANGES: dict[type, Change] = {
    AlertReceived: _received,
    CaseOpened: _opened,
    CaseSignalAdded: _added,
    CaseSignalResolved: _resolved,
    CaseClosed: _closed,
    IntakeAccepted: _accepted,
    IncidentStarted: _started,
}
