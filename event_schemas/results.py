"""Results, claims and evidence: strict documents that specialists submit and joins check."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from event_schemas.joins import Conflict
from event_schemas.payload import Contract, Instant, Json, Name, Payload, Sha256, Text

TIMEOUT = "DELEGATION_TIMEOUT"


class Claim(Contract):
    """A falsifiable statement that rests on evidence (CLM-01)."""

    claim_id: Name
    key: Name
    value: Json
    statement: Name
    confidence: Annotated[float, Field(ge=0, le=1)]
    evidence_refs: Annotated[tuple[Name, ...], Field(min_length=1)]
    subject: Text | None = None
    inference: bool = False
    uncertainty: Text | None = None


class EvidenceScope(Contract):
    """What the evidence covers: tenant, services and half-open time range (UTC)."""

    tenant: Name
    services: tuple[Text, ...] = ()
    time_range: tuple[Instant, Instant]


class Evidence(Contract):
    """A pointer to frozen bytes, with how they were obtained (EVI-01)."""

    evidence_id: Name
    kind: Name
    source: Name
    query_fingerprint: Sha256
    scope: EvidenceScope
    observed_at: Instant
    artifact_uri: Name
    content_hash: Sha256
    quality: Literal["passed", "failed", "unknown"]
    tool_call_id: Name
    trace_id: Name
    supports_types: tuple[Name, ...] = ()


class Usage(Contract):
    """What the specialist says it used; the controller's own count prevails (RES-12)."""

    tool_calls: int = 0
    rows_scanned: int = 0
    seconds: float = 0.0


class Result(Contract):
    """The answer to one delegation, in the strict form (RES-01, RES-05, RES-06)."""

    task_id: Name
    agent_id: Name
    status: Literal["completed", "no_data", "partial", "blocked", "failed"]
    summary: Text
    claims: tuple[Claim, ...]
    evidence: tuple[Evidence, ...] = ()
    artifacts: tuple[Name, ...] = ()
    missing_evidence: tuple[Text, ...] = ()
    warnings: tuple[Text, ...] = ()
    side_effects: tuple[Text, ...] = ()
    recommended_next: Text | None = None
    error_code: Name | None = None
    usage: Usage = Usage()

    @model_validator(mode="after")
    def _status_fits(self) -> "Result":
        if self.status == "partial" and not self.missing_evidence:
            raise ValueError("partial lists what is missing")
        if self.status == "failed" and not self.error_code:
            raise ValueError("failed names an error code")
        if self.status == "completed" and not self.claims:
            raise ValueError("completed holds at least one claim")
        return self


class ResultSubmitted(Payload):
    """A specialist answered; nobody has checked the answer yet. Writer: specialist."""

    task_id: Name
    step_id: Name
    plan_version: int
    attempt: int
    content_hash: Sha256
    result: Json


class ResultAccepted(Payload):
    """The answer passed all checks of the join contract. Writer: join engine."""

    join_id: Name
    task_id: Name
    step_id: Name
    specialist: Name
    plan_version: int
    attempt: int
    content_hash: Sha256
    state_version: int
    result: Result
    observed: dict[Sha256, Sha256 | None]


class ResultRejected(Payload):
    """The answer failed a check; the branch counts as failed. Writer: join engine."""

    join_id: Name
    task_id: Name
    step_id: Name
    specialist: Name
    attempt: int
    content_hash: Sha256 | None
    check: Name
    reason: Name
    detail: Text
    observed: dict[Sha256, Sha256 | None] = {}


class ResultLate(Payload):
    """The answer came after the join had closed. Writer: join engine (LATE-02)."""

    join_id: Name
    task_id: Name
    step_id: Name
    specialist: Name
    attempt: int
    content_hash: Sha256
    policy: Name
    merge: bool
    result: Result | None
    reason: Name | None = None
    conflicts: tuple[Conflict, ...] = ()
    observed: dict[Sha256, Sha256 | None] = {}


class ResultStale(Payload):
    """The answer belongs to another plan version. Writer: join engine (RES-08)."""

    join_id: Name
    task_id: Name
    plan_version: int
    current_plan_version: int
    content_hash: Sha256


class ResultHashConflict(Payload):
    """A second, different answer to the same task; neither wins silently (JOIN-11)."""

    join_id: Name
    task_id: Name
    step_id: Name
    specialist: Name
    accepted_hash: Sha256
    other_hash: Sha256


class ResultParked(Payload):
    """The answer overtook the plan that asks for it; it waits as a fact. Writer: join engine."""

    task_id: Name
    submitted: ResultSubmitted
    submitted_event: Name
    tenant: Name
    observed: dict[Sha256, Sha256 | None]
