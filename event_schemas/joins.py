"""Joins: contracts as data, and the decisions of the join engine. Writer: join engine."""

from typing import Annotated, Literal

from pydantic import Field

from event_schemas.payload import Contract, Instant, Json, Name, Payload, Text

Strategy = Literal["all", "quorum", "timeout_partial", "first_valid"]
OnTimeout = Literal["emit_partial"]
ConflictPolicy = Literal["preserve_and_escalate", "block_and_escalate"]
LateResultPolicy = Literal["discard", "record_but_do_not_merge", "append_new_revision"]
Outcome = Literal[
    "COMPLETE",
    "COMPLETE_WITH_REVIEW_REQUIRED",
    "PARTIAL_EVIDENCE",
    "INSUFFICIENT_EVIDENCE",
    "CONFLICT_REQUIRES_HUMAN",
]


class MinimumCompletion(Contract):
    """The threshold: how many independent results, supporting which evidence types."""

    count: Annotated[int, Field(ge=1)]
    required_evidence_types: tuple[Name, ...] = ()


class JoinContract(Contract):
    """How results come together; every question of JCON-02 has an answer here."""

    join_id: Name
    version: int
    required_steps: tuple[Name, ...]
    optional_steps: tuple[Name, ...]
    minimum_completion: MinimumCompletion
    strategy: Strategy
    deadline_at: Instant
    clock_owner: Name
    on_timeout: Literal["emit_partial", "fail", "escalate"]
    conflict_policy: Literal[
        "preserve_and_escalate",
        "block_and_escalate",
        "arbitrate_by_authority",
        "requery_once",
    ]
    late_result_policy: Literal[
        "discard", "record_but_do_not_merge", "append_new_revision", "reopen_task"
    ]
    max_repair_rounds: Annotated[int, Field(ge=0)]
    strict_evidence_prefixes: bool


class Expected(Contract):
    """One branch the join waits for."""

    step_id: Name
    task_id: Name
    specialist: Name
    agent_id: Name
    evidence_prefixes: tuple[Name, ...]
    evidence_kinds: tuple[Name, ...]
    scope_start: Instant
    scope_end: Instant
    services: tuple[Text, ...]


class ConflictClaim(Payload):
    """One side of a conflict."""

    claim_id: Name
    value: Json
    subject: Text | None = None
    specialist: Name
    evidence_refs: tuple[Name, ...]


class Conflict(Payload):
    """Claims that cannot all be true, kept side by side (CONF-01)."""

    topic: Name
    kind: Name = "fact"
    claims: tuple[ConflictClaim, ...]
    resolution: Name = "unresolved"
    next_query: Name


class JoinOpened(Payload):
    """The join waits for the whole expected set of one plan."""

    join_id: Name
    run_id: Name
    plan_version: int
    contract: JoinContract
    expected: tuple[Expected, ...]


class JoinClosed(Payload):
    """The join concluded, once per revision (JOIN-05)."""

    join_id: Name
    run_id: Name
    contract_version: int
    reason: Literal[
        "all_satisfied",
        "quorum_satisfied",
        "first_valid",
        "deadline",
        "cancelled",
        "all_terminal",
    ]
    outcome: Outcome
    recommended_action: Name
    accepted_specialists: tuple[Name, ...]
    failed_specialists: tuple[Name, ...]
    missing_specialists: tuple[Name, ...]
    missing_required_specialists: tuple[Name, ...]
    missing_evidence_types: tuple[Name, ...]
    partial_specialists: tuple[Name, ...]
    dependent_specialists: tuple[tuple[Name, ...], ...]
    conflicts: tuple[Conflict, ...]
    quorum_met: bool
    state_version: int


class ConflictRecorded(Payload):
    """The join found claims that contradict each other and keeps both (JOIN-08)."""

    join_id: Name
    run_id: Name
    conflict: Conflict
