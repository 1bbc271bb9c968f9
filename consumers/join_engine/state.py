"""A join as its own stream tells it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from event_schemas.joins import (
    ConflictRecorded,
    Expected,
    JoinClosed,
    JoinContract,
    JoinOpened,
)
from event_schemas.payload import Payload
from event_schemas.results import (
    Result,
    ResultAccepted,
    ResultHashConflict,
    ResultLate,
    ResultParked,
    ResultRejected,
)


@dataclass(frozen=True, slots=True)
class JoinState:
    """What the join engine knows: who is expected, who answered with which bytes."""

    run_id: str = ""
    plan_version: int = 0
    contract: JoinContract | None = None
    expected: Mapping[str, Expected] = field(default_factory=dict)
    accepted: Mapping[str, ResultAccepted] = field(default_factory=dict)
    merged: Mapping[str, ResultLate] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    hashes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    parked: tuple[ResultParked, ...] = ()
    topics: frozenset[str] = frozenset()
    closed: JoinClosed | None = None

    def terminal(self, task: str) -> bool:
        """Say whether nothing more is awaited from *task*."""
        return task in self.accepted or task in self.failed

    def answers(self) -> list[tuple[str, str, Result]]:
        """Return step, specialist and result of every answer that is in the report."""
        whole: list[ResultAccepted | ResultLate] = [*self.accepted.values()]
        whole += self.merged.values()
        return [
            (each.step_id, each.specialist, each.result) for each in whole if each.result
        ]

    def open_tasks(self) -> list[str]:
        """Return the tasks still awaited, in plan order."""
        return [task for task in self.expected if not self.terminal(task)]


def initial() -> JoinState:
    """Return a join nobody opened."""
    return JoinState()


def evolve(state: JoinState, event: Payload) -> JoinState:
    """Return the join after *event*."""
    match event:
        case JoinOpened():
            return replace(
                state,
                run_id=event.run_id,
                plan_version=event.plan_version,
                contract=event.contract,
                expected={branch.task_id: branch for branch in event.expected},
            )
        case ResultParked():
            return replace(state, parked=(*state.parked, event))
        case ConflictRecorded():
            return replace(state, topics=state.topics | {event.conflict.topic})
        case JoinClosed():
            return replace(state, closed=event)
    return _answered(state, event)


def _answered(state: JoinState, event: Payload) -> JoinState:
    match event:
        case ResultAccepted():
            state = replace(state, accepted={**state.accepted, event.task_id: event})
        case ResultRejected():
            state = replace(state, failed={**state.failed, event.task_id: event.reason})
        case ResultHashConflict():
            return _seen(state, event.task_id, event.other_hash)
        case ResultLate(merge=True):
            state = replace(state, merged={**state.merged, event.task_id: event})
        case ResultLate():
            pass
        case _:
            return state
    return _seen(state, event.task_id, event.content_hash)


def _seen(state: JoinState, task: str, content_hash: str | None) -> JoinState:
    if content_hash is None:
        return state
    known = state.hashes.get(task, frozenset())
    return replace(state, hashes={**state.hashes, task: known | {content_hash}})
