"""A run as its own stream tells it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from event_schemas.delegations import DelegationCompleted, DelegationCreated
from event_schemas.payload import Payload
from event_schemas.plans import PlanAccepted
from event_schemas.results import Result
from event_schemas.runs import (
    IncidentStarted,
    Report,
    ReportPublished,
    ReportRevised,
    RunCompleted,
    RunStatus,
    RunStatusChanged,
)


@dataclass(frozen=True, slots=True)
class RunState:
    """What the supervisor knows of a run; *open_tasks* have no terminal state yet."""

    started: IncidentStarted | None = None
    plan: PlanAccepted | None = None
    status: RunStatus = "received"
    tasks: Mapping[str, DelegationCreated] = field(default_factory=dict)
    ended: Mapping[str, DelegationCompleted] = field(default_factory=dict)
    late: Mapping[str, Result] = field(default_factory=dict)
    report: Report | None = None
    completed: RunCompleted | None = None

    def open_tasks(self) -> list[str]:
        """Return the tasks without a terminal state, in plan order."""
        return [task for task in self.tasks if task not in self.ended]


def initial() -> RunState:
    """Return a run that has not started."""
    return RunState()


def evolve(state: RunState, event: Payload) -> RunState:
    """Return the run after *event*."""
    match event:
        case IncidentStarted():
            return replace(state, started=event)
        case PlanAccepted():
            return replace(state, plan=event)
        case DelegationCreated():
            return replace(state, tasks={**state.tasks, event.task_id: event})
        case DelegationCompleted():
            return replace(state, ended={**state.ended, event.task_id: event})
    return _ending(state, event)


def _ending(state: RunState, event: Payload) -> RunState:
    match event:
        case RunStatusChanged():
            return replace(state, status=event.status)
        case ReportPublished():
            return replace(state, report=event.report)
        case ReportRevised():
            late = {**state.late, event.task_id: event.merged}
            return replace(state, report=event.report, late=late)
        case RunCompleted():
            return replace(state, completed=event, status=event.status)
    return state
