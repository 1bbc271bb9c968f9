"""The supervisor decides: start, plan, delegate, end tasks, judge, complete. Pure."""

from collections.abc import Sequence
from datetime import datetime

from consumers.supervisor import consolidation
from consumers.supervisor.planning import delegation_of, goal_of, plan_of
from consumers.supervisor.reactions import Consolidate, EndTask, Revise, StartRun
from consumers.supervisor.state import RunState, evolve, initial
from event_schemas.delegations import (
    DelegationCompleted,
    DelegationCreated,
    DelegationDispatched,
    DelegationRejected,
    ExecuteDelegation,
)
from event_schemas.ids import derived_id
from event_schemas.payload import Payload
from event_schemas.playbooks import Playbook
from event_schemas.results import TIMEOUT, ResultAccepted, ResultRejected
from event_schemas.runs import (
    IncidentStarted,
    PlaybookUsed,
    ReportRevised,
    RunStatus,
    RunStatusChanged,
)

RULES = 1

__all__ = ["decide", "evolve", "initial"]


def decide(
    state: RunState,
    command: StartRun | EndTask | Consolidate | Revise,
    observed: PlaybookUsed | None,
    now: datetime,
) -> Sequence[Payload]:
    """Return the facts and orders that follow from *command*."""
    if isinstance(command, StartRun):
        return _start(command, observed) if state.started is None and observed else []
    if state.started is None:
        return []
    match command:
        case EndTask():
            return _end(state, command)
        case Consolidate():
            return _consolidate(state, command)
        case Revise():
            return _revise(state, command)


def _start(command: StartRun, used: PlaybookUsed) -> list[Payload]:
    accepted = command.accepted
    playbook = Playbook.model_validate(used.content, strict=False)
    started = IncidentStarted(
        **{
            name: getattr(accepted, name)
            for name in IncidentStarted.model_fields
            if name not in {"observed", "rules"}
        },
        observed=used,
        rules=RULES,
    )
    goal = goal_of(started, playbook)
    plan = plan_of(started, playbook, goal)
    created = [
        delegation_of(started, playbook, goal, plan, at) for at in range(len(plan.steps))
    ]
    return [
        started,
        goal,
        plan,
        _moved(started.run_id, "received", "planned", "plan_accepted"),
        *created,
        *(fact for one in created for fact in _dispatch(started, one)),
        _moved(started.run_id, "planned", "running", "delegations_dispatched"),
    ]


def _dispatch(
    started: IncidentStarted, created: DelegationCreated
) -> tuple[DelegationDispatched, ExecuteDelegation]:
    delegation, attempt = created.delegation, 1
    dispatch = derived_id("dispatch", created.task_id, attempt)
    dispatched = DelegationDispatched(
        dispatch_id=dispatch,
        task_id=created.task_id,
        run_id=started.run_id,
        step_id=created.step_id,
        plan_version=delegation.plan_version,
        attempt=attempt,
        target=delegation.specialist_id,
        scopes=delegation.required_scopes,
        forbidden_actions=delegation.forbidden_actions,
        deadline_at=delegation.deadline_at,
    )
    order = ExecuteDelegation(
        dispatch_id=dispatch,
        task_id=created.task_id,
        run_id=started.run_id,
        addressee=delegation.specialist_id,
        attempt=attempt,
        deadline_at=delegation.deadline_at,
        delegation=delegation,
        case_folder=started.case_folder,
    )
    return dispatched, order


def _end(state: RunState, command: EndTask) -> list[Payload]:
    fact = command.fact
    created = state.tasks.get(fact.task_id)
    if created is None or fact.task_id in state.ended:
        return []
    if isinstance(fact, ResultAccepted):
        result = fact.result
        return [
            _ended(
                created,
                "completed",
                result_status=result.status,
                summary=result.summary,
                claims=result.claims,
                evidence=result.evidence,
                missing_evidence=result.missing_evidence,
                warnings=result.warnings,
            )
        ]
    return [_ended(created, _end_status(fact), result_status="failed", reason=fact.reason)]


def _end_status(fact: ResultRejected | DelegationRejected) -> str:
    if isinstance(fact, DelegationRejected):
        return "rejected"
    return "expired" if fact.reason == TIMEOUT else "failed"


def _expire(state: RunState, tasks: Sequence[str]) -> list[Payload]:
    return [
        _ended(state.tasks[task], "expired", result_status="failed", reason=TIMEOUT)
        for task in tasks
        if task in state.tasks and task not in state.ended
    ]


def _consolidate(state: RunState, command: Consolidate) -> list[Payload]:
    if state.completed is not None or state.started is None:
        return []
    facts = _expire(state, state.open_tasks())
    for fact in facts:
        state = evolve(state, fact)
    judged = consolidation.judge(state, command.closed)
    run = command.closed.run_id
    return [
        *facts,
        _moved(run, state.status, "consolidating", "join_closed"),
        judged.published,
        *judged.escalated,
        _moved(run, "consolidating", judged.completed.status, command.closed.outcome),
        judged.completed,
    ]


def _revise(state: RunState, command: Revise) -> list[Payload]:
    late = command.late
    if state.completed is None or state.report is None or late.result is None:
        return []
    report = consolidation.revise(state, late)
    return [
        ReportRevised(
            run_id=state.completed.run_id,
            report=report,
            because=f"late result of {late.specialist}",
            task_id=late.task_id,
            merged=late.result,
        )
    ]


def _ended(created: DelegationCreated, status: str, **more: object) -> DelegationCompleted:
    return DelegationCompleted.model_validate(
        {
            "task_id": created.task_id,
            "run_id": created.run_id,
            "step_id": created.step_id,
            "specialist": created.delegation.specialist_id,
            "status": status,
            **more,
        }
    )


def _moved(
    run: str, previous: RunStatus, status: RunStatus, reason: str
) -> RunStatusChanged:
    return RunStatusChanged(run_id=run, previous=previous, status=status, reason=reason)
