"""Alerts: what producers raise, and the input facts intake makes of them. Writer: intake."""

from typing import Literal

from event_schemas.payload import Instant, Json, Name, Payload, Text

Figure = float | int | str


class AlertRaised(Payload):
    """A monitored signal left its normal range, or came back to it (INT-13)."""

    alert_id: Name
    fingerprint: Name
    tenant: Name
    environment: Name
    source: Name
    signal_kind: Name
    severity: Name
    status: Literal["firing", "resolved"] = "firing"
    starts_at: Instant | None = None
    service: Text | None = None
    metric: Text | None = None
    baseline: Figure | None = None
    observed: Figure | None = None
    window_start: Instant | None = None
    window_end: Instant | None = None
    deadline_at: Instant | None = None
    labels: dict[Text, Text] = {}
    annotations: dict[Text, Text] = {}
    services: tuple[Text, ...] = ()
    raw_ref: Text | None = None
    case_folder: Text | None = None


class MessageRef(Payload):
    """The outside message an input fact was made of: enough to claim it again."""

    source: Name
    id: Name
    topic: Name
    partition: int
    offset: int
    digest: Name


class DirectoryEntry(Payload):
    """What the service directory said about a service, with the directory's version."""

    service: Name
    group: Name
    owner: Name
    risk: Name
    known: bool
    version: Name
    services: tuple[Name, ...] = ()


class OpenCase(Payload):
    """The case intake saw when it placed a signal."""

    case_id: Name
    run_id: Name
    status: Literal["open", "closed"]
    last_signal_at: Instant


class PlaybookRef(Payload):
    """The playbook that answers an alert, with the durations intake turns into times."""

    name: Name
    version: Name
    kind: Name
    run_seconds: int
    before_seconds: int
    after_seconds: int


class Placement(Payload):
    """What intake observed before it decided where a signal belongs."""

    directory: DirectoryEntry
    same_signal: OpenCase | None = None
    group_case: OpenCase | None = None
    playbook: PlaybookRef


class AlertReceived(Payload):
    """An alert was taken in, with all its data, so that replay needs nothing else."""

    message: MessageRef
    alert: AlertRaised
    observed: Placement


class IntakeRejected(Payload):
    """Intake refused a message that it could read (INT-06, INT-16)."""

    reason: Name
    message: MessageRef
    detail: Text
    data: Json = None
