"""Delegations: bounded questions to one specialist each.

Writers: supervisor (created, dispatched, completed), specialist (accepted, rejected, leases).
"""

from typing import Annotated, Literal

from pydantic import Field

from event_schemas.cases import Signal
from event_schemas.payload import Contract, Instant, Json, Name, Payload, Sha256, Text
from event_schemas.results import Claim, Evidence


class Scope(Contract):
    """Where a specialist may look: services and half-open time range (UTC)."""

    services: tuple[Text, ...]
    time_range: tuple[Instant, Instant]


class TaskBudget(Contract):
    """Limits of one delegation, counted by the runner, not by the specialist (BUD-02)."""

    max_tool_calls: Annotated[int, Field(gt=0)]
    max_rows_scanned: Annotated[int, Field(gt=0)]


class Delegation(Contract):
    """The question as the specialist gets it; it names no tenant (DEL-01, DEL-03, DEL-04)."""

    schema_version: Literal["caseops.delegation.v1"] = "caseops.delegation.v1"
    delegation_task_id: Name
    parent_run_id: Name
    case_id: Name
    step_id: Name
    plan_version: int
    specialist_id: Name
    requester_agent_id: Name
    task_type: Name
    goal: Name
    acceptance_criteria: Annotated[tuple[Name, ...], Field(min_length=1)]
    scope: Scope
    input_refs: tuple[Name, ...] = ()
    constraints: tuple[Name, ...] = ()
    allowed_tools: Annotated[tuple[Name, ...], Field(min_length=1)]
    allowed_evidence_kinds: Annotated[tuple[Name, ...], Field(min_length=1)]
    evidence_prefixes: tuple[Name, ...] = ()
    required_scopes: Annotated[tuple[Name, ...], Field(min_length=1)]
    forbidden_actions: tuple[Name, ...] = ()
    deadline_at: Instant
    budget: TaskBudget
    max_attempts: Annotated[int, Field(gt=0)] = 3
    output_schema: Name = "agent-result.v1"
    escalation: Name = "return_blocked_with_missing_access"
    idempotency_key: Name
    trace_id: Name
    reason: Name
    signals: tuple[Signal, ...] = ()
    inputs: Json = None


class DelegationCreated(Payload):
    """The supervisor decided to ask one specialist one bounded question."""

    task_id: Name
    run_id: Name
    step_id: Name
    join_id: Name
    delegation: Delegation


class DelegationDispatched(Payload):
    """The order to a specialist was issued; the command carries the same id (SCHED-03)."""

    dispatch_id: Name
    task_id: Name
    run_id: Name
    step_id: Name
    plan_version: int
    attempt: int
    target: Name
    scopes: tuple[Name, ...]
    forbidden_actions: tuple[Name, ...]
    deadline_at: Instant


class DelegationCompleted(Payload):
    """The delegation reached a terminal state; `status` says which."""

    task_id: Name
    run_id: Name
    step_id: Name
    specialist: Name
    status: Literal["completed", "failed", "expired", "rejected", "cancelled"]
    result_status: Name | None = None
    reason: Name | None = None
    summary: Text = ""
    claims: tuple[Claim, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    missing_evidence: tuple[Text, ...] = ()
    warnings: tuple[Text, ...] = ()


class ExecuteDelegation(Payload):
    """Order: investigate this delegation. One addressee; the task token rides in a header."""

    dispatch_id: Name
    task_id: Name
    run_id: Name
    addressee: Name
    attempt: int
    deadline_at: Instant
    delegation: Delegation
    case_folder: Text | None = None


class CancelDelegation(Payload):
    """Order: stop working on this delegation."""

    task_id: Name
    run_id: Name
    addressee: Name
    deadline_at: Instant
    reason: Name


class DelegationAccepted(Payload):
    """The specialist took the question on."""

    task_id: Name
    dispatch_id: Name
    specialist: Name
    attempt: int
    step_id: Name
    deadline_at: Instant


class DelegationRejected(Payload):
    """The specialist refused the order, with the reason."""

    task_id: Name
    dispatch_id: Name
    specialist: Name
    attempt: int
    step_id: Name
    reason: Name
    detail: Text


class LeaseAcquired(Payload):
    """A worker holds the task until the lease runs out; its token is never published."""

    task_id: Name
    worker: Name
    attempt: int
    lease_digest: Sha256
    acquired_at: Instant
    expires_at: Instant


class LeaseExpired(Payload):
    """A worker lost the task: no heartbeat before the lease ran out."""

    task_id: Name
    attempt: int
    expired_at: Instant
    next_attempt: int | None
