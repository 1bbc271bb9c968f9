"""From a playbook and an accepted case to goal, plan and delegations. Pure."""

from datetime import datetime, timedelta

from event_schemas.delegations import Delegation, DelegationCreated, Scope
from event_schemas.ids import derived_id
from event_schemas.joins import JoinContract
from event_schemas.plans import GoalCreated, PlanAccepted, Step
from event_schemas.playbooks import Playbook, StepRule
from event_schemas.runs import IncidentStarted

REQUESTER = "supervisor@1"
FIRST_VERSION = 1


def goal_of(started: IncidentStarted, playbook: Playbook) -> GoalCreated:
    """Return the goal of the run, frozen from its playbook."""
    rule = playbook.goal
    return GoalCreated(
        goal_id=derived_id("goal", started.run_id),
        run_id=started.run_id,
        version=1,
        purpose=rule.purpose,
        subject=started.case_id,
        requested_outputs=rule.requested_outputs,
        constraints=rule.constraints,
        forbidden_actions=rule.forbidden_actions,
        acceptance_criteria=rule.acceptance_criteria,
        end_conditions=rule.end_conditions,
        owner=started.owner,
        trace_id=started.trace_id,
    )


def plan_of(
    started: IncidentStarted, playbook: Playbook, goal: GoalCreated
) -> PlanAccepted:
    """Return plan version 1: the playbook's steps with absolute times."""
    return PlanAccepted(
        plan_id=derived_id("plan", started.run_id),
        run_id=started.run_id,
        goal_id=goal.goal_id,
        version=FIRST_VERSION,
        steps=tuple(_step(rule, started) for rule in playbook.steps),
        join=_join(playbook, started),
        services=started.services,
        window_start=started.window_start,
        window_end=started.window_end,
        rationale=playbook.rationale or playbook.title,
    )


def delegation_of(
    started: IncidentStarted,
    playbook: Playbook,
    goal: GoalCreated,
    plan: PlanAccepted,
    at: int,
) -> DelegationCreated:
    """Return the delegation of the plan's step number *at*."""
    step, rule = plan.steps[at], playbook.steps[at]
    task = step.task_id
    delegation = Delegation(
        delegation_task_id=task,
        parent_run_id=started.run_id,
        case_id=started.case_id,
        step_id=step.step_id,
        plan_version=plan.version,
        specialist_id=step.specialist,
        requester_agent_id=REQUESTER,
        task_type=step.skill,
        goal=step.goal,
        acceptance_criteria=step.acceptance_criteria,
        scope=Scope(
            services=plan.services, time_range=(plan.window_start, plan.window_end)
        ),
        input_refs=(started.signal.alert_id,),
        constraints=goal.constraints,
        allowed_tools=step.tools,
        allowed_evidence_kinds=step.evidence_kinds,
        evidence_prefixes=step.evidence_prefixes,
        required_scopes=step.scopes,
        forbidden_actions=goal.forbidden_actions,
        deadline_at=step.deadline_at,
        budget=step.budget,
        max_attempts=step.max_attempts,
        idempotency_key=task,
        trace_id=started.trace_id,
        reason=rule.reason,
        signals=(started.signal,),
    )
    return DelegationCreated(
        task_id=task,
        run_id=started.run_id,
        step_id=step.step_id,
        join_id=plan.join.join_id,
        delegation=delegation,
    )


def _within(started: IncidentStarted, seconds: int) -> datetime:
    return min(started.received_at + timedelta(seconds=seconds), started.deadline_at)


def _step(rule: StepRule, started: IncidentStarted) -> Step:
    return Step(
        step_id=rule.step_id,
        task_id=derived_id("task", started.run_id, rule.step_id, FIRST_VERSION),
        specialist=rule.specialist,
        agent_id=rule.agent_id,
        skill=rule.skill,
        goal=rule.goal,
        required=rule.required,
        depends_on=rule.depends_on,
        acceptance_criteria=rule.acceptance_criteria,
        tools=rule.tools,
        scopes=rule.scopes,
        evidence_kinds=rule.evidence_kinds,
        evidence_prefixes=rule.evidence_prefixes,
        risk=rule.risk,
        deadline_at=_within(started, rule.deadline_seconds),
        budget=rule.budget,
        max_attempts=rule.max_attempts,
    )


def _join(playbook: Playbook, started: IncidentStarted) -> JoinContract:
    rule = playbook.join
    return JoinContract(
        join_id=rule.join_id,
        version=rule.version,
        required_steps=tuple(s.step_id for s in playbook.steps if s.required),
        optional_steps=tuple(s.step_id for s in playbook.steps if not s.required),
        minimum_completion=rule.minimum_completion,
        strategy=rule.strategy,
        deadline_at=_within(started, rule.deadline_seconds),
        clock_owner=rule.clock_owner,
        on_timeout=rule.on_timeout,
        conflict_policy=rule.conflict_policy,
        late_result_policy=rule.late_result_policy,
        max_repair_rounds=rule.max_repair_rounds,
        strict_evidence_prefixes=rule.strict_evidence_prefixes,
    )
