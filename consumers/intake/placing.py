"""Where a signal belongs: directory, risk, playbook, and the case it joins. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from consumers.intake.reactions import ReceiveAlert
from event_schemas.alerts import AlertRaised, DirectoryEntry, OpenCase, PlaybookRef
from event_schemas.ids import derived_id
from event_schemas.playbooks import Directory, Playbook

CORRELATION_WINDOW = timedelta(minutes=15)
UNASSIGNED = "unassigned"
_SEVERE = frozenset({"critical", "page", "p1", "sev1", "emergency", "fatal"})
_MILD = frozenset({"info", "none", "low", "p4", "p5"})


def starts_at(command: ReceiveAlert, now: datetime) -> datetime:
    """Return when the signal began: its own word, its window, its event's time, else now."""
    alert = command.alert
    return alert.starts_at or alert.window_start or command.sent_at or now


def look_up(directory: Directory, service: str) -> DirectoryEntry:
    """Return the directory's word on *service*; an unknown one is unassigned (INT-03)."""
    for entry in directory.services:
        if entry.service == service:
            return DirectoryEntry(
                service=service,
                group=entry.group,
                owner=next(g.owner for g in directory.groups if g.group == entry.group),
                risk=entry.risk,
                known=True,
                version=directory.version,
                services=tuple(
                    s.service for s in directory.services if s.group == entry.group
                ),
            )
    return DirectoryEntry(
        service=service or UNASSIGNED,
        group=UNASSIGNED,
        owner=UNASSIGNED,
        risk="medium",
        known=False,
        version=directory.version,
    )


def risk_of(alert: AlertRaised, entry: DirectoryEntry) -> str:
    """Return the initial risk by rule: how severe the signal, how much hangs on it (INT-04)."""
    severity = alert.severity.lower()
    if severity in _MILD:
        return "low"
    if severity in _SEVERE and entry.risk in {"critical", "high"}:
        return "critical"
    return "high" if severity in _SEVERE or entry.risk == "critical" else entry.risk


def playbook_for(
    alert: AlertRaised, group: str, playbooks: Sequence[Playbook]
) -> PlaybookRef:
    """Return the playbook whose rule fits best: a specific match before the fallback."""

    def fits(playbook: Playbook) -> bool:
        rule = playbook.match
        return (not rule.signal_kinds or alert.signal_kind in rule.signal_kinds) and (
            not rule.groups or group in rule.groups
        )

    ranked = sorted(
        (p for p in playbooks if fits(p)), key=lambda p: (p.match.fallback, p.name)
    )
    chosen = ranked[0]
    return PlaybookRef(
        name=chosen.name,
        version=chosen.version,
        kind=chosen.kind,
        run_seconds=chosen.run_seconds,
        before_seconds=chosen.window.before_seconds,
        after_seconds=chosen.window.after_seconds,
    )


def case_to_join(
    at: datetime, same: OpenCase | None, group: OpenCase | None
) -> OpenCase | None:
    """Return the case a signal that began *at* joins, None when it opens its own.

    The same signal joins its case even when that is over; another one joins the open case of
    its group within 15 minutes of that case's last signal (INT-01, INT-08, INT-14).
    """
    if same is not None:
        return same
    if group is None or group.status != "open":
        return None
    near = abs(at - group.last_signal_at) <= CORRELATION_WINDOW
    return group if near else None


def new_case_id(command: ReceiveAlert, tenant: str) -> str:
    """Return the id of the case that this message would open."""
    return derived_id("case", tenant, command.message.source, command.message.id)
