"""Goals and plans. Writer: supervisor."""

from typing import Annotated, Literal

from pydantic import Field

from event_schemas.delegations import TaskBudget
from event_schemas.joins import JoinContract
from event_schemas.payload import Contract, Instant, Name, Payload, Text


class GoalCreated(Payload):
    """What the run is for, frozen at its creation (GOAL-01, GOAL-02, GOAL-05)."""

    goal_id: Name
    run_id: Name
    version: int
    purpose: Name
    subject: Name
    requested_outputs: tuple[Name, ...]
    constraints: tuple[Name, ...]
    forbidden_actions: tuple[Name, ...]
    acceptance_criteria: tuple[Name, ...]
    end_conditions: tuple[Name, ...]
    owner: Name
    trace_id: Name


class Step(Contract):
    """One node of the plan."""

    step_id: Name
    task_id: Name
    specialist: Name
    agent_id: Name
    skill: Name
    goal: Name
    required: bool
    depends_on: tuple[Name, ...]
    acceptance_criteria: Annotated[tuple[Name, ...], Field(min_length=1)]
    tools: Annotated[tuple[Name, ...], Field(min_length=1)]
    scopes: Annotated[tuple[Name, ...], Field(min_length=1)]
    evidence_kinds: Annotated[tuple[Name, ...], Field(min_length=1)]
    evidence_prefixes: tuple[Name, ...]
    risk: Literal["R0", "R1", "R2", "R3"]
    deadline_at: Instant
    budget: TaskBudget
    max_attempts: int


class PlanAccepted(Payload):
    """The whole plan, in one event: nobody infers it from parts (JCON-03)."""

    plan_id: Name
    run_id: Name
    goal_id: Name
    version: int
    steps: tuple[Step, ...]
    join: JoinContract
    services: tuple[Text, ...]
    window_start: Instant
    window_end: Instant
    rationale: Name
