"""Cases: alerts that belong together, and the run that answers them. Writer: intake."""

from event_schemas.payload import Instant, Name, Payload, Text


class CaseOpened(Payload):
    """A new case began with its first signal."""

    case_id: Name
    run_id: Name
    tenant: Name
    environment: Name
    group: Name
    service: Text
    owner: Name
    risk: Name
    alert_id: Name
    fingerprint: Name
    signal_kind: Name
    starts_at: Instant
    related_case_id: Name | None = None
    related_run_id: Name | None = None
    warnings: tuple[Text, ...] = ()


class CaseSignalAdded(Payload):
    """Another alert joined the case, or the same one fired again."""

    case_id: Name
    alert_id: Name
    fingerprint: Name
    signal_kind: Name
    starts_at: Instant
    repeated: bool


class CaseSignalResolved(Payload):
    """An alert of the case was reported as over; the run goes on."""

    case_id: Name
    alert_id: Name
    fingerprint: Name
    starts_at: Instant


class CaseClosed(Payload):
    """The run of the case ended; later signals open a new, linked case."""

    case_id: Name
    run_id: Name
    run_status: Name


class Signal(Payload):
    """One alert as the run sees it."""

    alert_id: Name
    fingerprint: Name
    signal_kind: Name
    severity: Name
    starts_at: Instant
    service: Text | None = None
    metric: Text | None = None
    baseline: float | int | str | None = None
    observed: float | int | str | None = None
    labels: dict[Text, Text] = {}
    annotations: dict[Text, Text] = {}


class IntakeAccepted(Payload):
    """The case is worth a run: who owns it, how long it may take, where to look (INT-05)."""

    case_id: Name
    run_id: Name
    trace_id: Name
    kind: Name
    playbook: Name
    playbook_version: Name
    tenant: Name
    environment: Name
    group: Name
    service: Text
    owner: Name
    risk: Name
    received_at: Instant
    deadline_at: Instant
    window_start: Instant
    window_end: Instant
    services: tuple[Name, ...]
    signal: Signal
    case_folder: Text | None = None
    related_run_id: Name | None = None
    rules: int
