"""Playbooks: what a kind of run does, as data; and the service directory. Strict. Pure."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from event_schemas.delegations import TaskBudget
from event_schemas.joins import (
    MinimumCompletion,
    Strategy,
)
from event_schemas.payload import Contract, Name, Text


class Match(Contract):
    """Which alerts open a run of this playbook; empty lists match anything."""

    signal_kinds: tuple[Name, ...] = ()
    groups: tuple[Name, ...] = ()
    fallback: bool = False


class WindowRule(Contract):
    """The investigated window around the first signal, when the alert names none."""

    before_seconds: Annotated[int, Field(ge=0)]
    after_seconds: Annotated[int, Field(ge=0)]


class GoalRule(Contract):
    """The goal contract of every run of the playbook (GOAL-01, GOAL-05)."""

    purpose: Name
    requested_outputs: Annotated[tuple[Name, ...], Field(min_length=1)]
    constraints: tuple[Name, ...]
    forbidden_actions: tuple[Name, ...]
    acceptance_criteria: Annotated[tuple[Name, ...], Field(min_length=1)]
    end_conditions: Annotated[tuple[Name, ...], Field(min_length=1)]


class StepRule(Contract):
    """One step, with durations counted from intake."""

    step_id: Name
    specialist: Name
    agent_id: Name
    skill: Name
    goal: Name
    reason: Name
    required: bool
    depends_on: tuple[Name, ...] = ()
    acceptance_criteria: Annotated[tuple[Name, ...], Field(min_length=1)]
    tools: Annotated[tuple[Name, ...], Field(min_length=1)]
    scopes: Annotated[tuple[Name, ...], Field(min_length=1)]
    evidence_kinds: Annotated[tuple[Name, ...], Field(min_length=1)]
    evidence_prefixes: tuple[Name, ...] = ()
    risk: Literal["R0", "R1", "R2", "R3"]
    deadline_seconds: Annotated[int, Field(gt=0)]
    max_attempts: Annotated[int, Field(gt=0)]
    budget: TaskBudget


class JoinRule(Contract):
    """The join contract, its deadline as a duration from intake (JCON-02)."""

    join_id: Name
    version: int
    minimum_completion: MinimumCompletion
    strategy: Strategy
    deadline_seconds: Annotated[int, Field(gt=0)]
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


class Playbook(Contract):
    """A whole playbook, as its YAML file says it."""

    name: Name
    version: Name
    kind: Literal["incident"]
    title: Name
    match: Match
    run_seconds: Annotated[int, Field(gt=0)]
    window: WindowRule
    goal: GoalRule
    steps: Annotated[tuple[StepRule, ...], Field(min_length=1)]
    join: JoinRule
    escalate_to: Name
    rationale: Text


class DirectoryGroup(Contract):
    """Services that one team answers for; their alerts belong together."""

    group: Name
    owner: Name


class DirectoryService(Contract):
    """One service of the directory."""

    service: Name
    group: Name
    risk: Literal["low", "medium", "high", "critical"]


class Directory(Contract):
    """The service directory: service -> group and risk, group -> owner (INT-03)."""

    version: Name
    groups: tuple[DirectoryGroup, ...]
    services: tuple[DirectoryService, ...]

    @model_validator(mode="after")
    def _groups_exist(self) -> "Directory":
        known = {entry.group for entry in self.groups}
        unknown = sorted({entry.group for entry in self.services} - known)
        if unknown:
            raise ValueError(f"no owner for group {', '.join(unknown)}")
        return self
