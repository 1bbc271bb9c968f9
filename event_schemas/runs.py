"""Runs and their reports. Writer: supervisor."""

from typing import Literal

from event_schemas.cases import Signal
from event_schemas.joins import Conflict
from event_schemas.payload import Instant, Json, Name, Payload, Sha256, Text
from event_schemas.results import Result

RunStatus = Literal[
    "received",
    "planned",
    "running",
    "blocked",
    "waiting_human",
    "consolidating",
    "cancelling",
    "completed",
    "needs_human",
    "failed",
    "cancelled",
]


class PlaybookUsed(Payload):
    """The playbook as it was when the run began: replay never reads today's file."""

    name: Name
    version: Name
    digest: Sha256
    content: Json


class IncidentStarted(Payload):
    """An incident run began."""

    run_id: Name
    case_id: Name
    kind: Name
    tenant: Name
    environment: Name
    group: Name
    service: Text
    owner: Name
    risk: Name
    trace_id: Name
    received_at: Instant
    deadline_at: Instant
    window_start: Instant
    window_end: Instant
    services: tuple[Name, ...]
    signal: Signal
    case_folder: Text | None = None
    related_run_id: Name | None = None
    observed: PlaybookUsed
    rules: int


class RunStatusChanged(Payload):
    """The run moved along its life cycle (SM-RUN)."""

    run_id: Name
    previous: RunStatus
    status: RunStatus
    reason: Name


class Cause(Payload):
    """A cause candidate, strongest first, with the claims it rests on."""

    service: Text
    category: Name
    type: Name
    score: float
    onset: Instant | None = None
    change_ref: Json = None
    claim_ids: tuple[Name, ...]
    why: Text = ""


class Report(Payload):
    """The judgement as people read it (USER-09, RISK-06)."""

    revision: int
    verdict: Literal["root_cause", "inconclusive", "no_fault"]
    status: Text
    summary: Text
    impact: tuple[Text, ...]
    causes: tuple[Cause, ...]
    confidence: float
    conflicts: tuple[Conflict, ...]
    missing: tuple[Text, ...]
    warnings: tuple[Text, ...]
    advice: tuple[Text, ...]
    claim_ids: tuple[Name, ...]
    dependent: tuple[tuple[Name, ...], ...] = ()
    late: tuple[Text, ...] = ()


class ReportPublished(Payload):
    """The first judgement of a run is out."""

    run_id: Name
    report: Report


class ReportRevised(Payload):
    """A later revision of the report; the earlier ones stay as they are (LATE-03)."""

    run_id: Name
    report: Report
    because: Name
    task_id: Name
    merged: Result


class ConflictEscalated(Payload):
    """A conflict the run could not settle was handed to people."""

    run_id: Name
    to: Name
    conflict: Conflict


class RunCompleted(Payload):
    """The run ended: the public completion event, one per run."""

    run_id: Name
    case_id: Name
    kind: Name
    tenant: Name
    environment: Name
    group: Name
    owner: Name
    status: Literal["completed", "needs_human", "failed", "cancelled"]
    result_status: Name
    outcome: Name
    termination_reason: Name
    recommended_action: Name
    side_effect: Literal["none"]
    report: Report | None
    deadline_at: Instant
