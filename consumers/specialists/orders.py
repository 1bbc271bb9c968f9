"""Orders to a specialist: taken on or refused with a reason. Pure; all facts are input facts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from consumers.decider import Decider, Intent, Message
from consumers.specialists.capabilities import CatalogueEntry
from event_schemas.delegations import (
    CancelDelegation,
    DelegationAccepted,
    DelegationRejected,
    ExecuteDelegation,
    LeaseAcquired,
)
from event_schemas.payload import Payload
from event_schemas.registry import names
from event_schemas.topics import commands

READS = names(ExecuteDelegation, CancelDelegation)
WRITER = "specialist"


@dataclass(frozen=True, slots=True)
class TakeOn:
    """Work on this delegation; *order_id* names the message that asks for it."""

    order: ExecuteDelegation
    order_id: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stop working on this delegation."""

    order: CancelDelegation
    order_id: str


@dataclass(frozen=True, slots=True)
class NewLease:
    """A lease that a free worker can take at once; the token itself is never published."""

    token: str
    digest: str
    worker: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Seen:
    """What the edge saw: the time, a cancel that came before, a free worker's lease."""

    at: datetime
    cancelled: bool = False
    lease: NewLease | None = None


@dataclass(frozen=True, slots=True)
class TaskState:
    """One delegation in this specialist's hands: last order, last attempt under a lease."""

    ordered: int = 0
    attempt: int = 0
    lease_digest: str | None = None

    def is_held_with(self, token: str | None) -> bool:
        """Say whether the last recorded lease is the one of *token*."""
        return token is not None and self.lease_digest == digest_of(token)


def digest_of(token: str) -> str:
    """Return what is published of a lease token."""
    return sha256(token.encode()).hexdigest()


def stream_of(task_id: str) -> str:
    """Return the stream of one delegation."""
    return f"delegation/{task_id}"


def react(message: Message) -> Sequence[Intent]:
    """Return what *message* asks of this specialist."""
    order, envelope = message.payload, message.envelope
    command: TakeOn | GiveUp
    if isinstance(order, ExecuteDelegation):
        command = TakeOn(order, envelope.id)
    elif isinstance(order, CancelDelegation):
        command = GiveUp(order, envelope.id)
    else:
        return []
    key = envelope.partitionkey or envelope.correlationid or order.run_id
    tenant = envelope.tenantid or "-"
    stream = stream_of(order.task_id)
    return [Intent(command, stream, key, tenant, order.run_id, opens=True)]


def decider(entry: CatalogueEntry) -> Decider:
    """Return the decider of the specialist in *entry*."""
    return Decider(
        writer=WRITER,
        reads=READS,
        react=react,
        decide=_decide_for(entry),
        evolve=evolve,
        initial=TaskState,
        owns=frozenset({commands(entry.name).name}),
    )


def _decide_for(
    entry: CatalogueEntry,
) -> Callable[[Any, Any, Any, datetime], Sequence[Payload]]:
    def decide(
        state: TaskState, command: TakeOn | GiveUp, seen: Seen, _now: datetime
    ) -> Sequence[Payload]:
        if isinstance(command, GiveUp) or 0 < command.order.attempt == state.ordered:
            return []
        refused = reason_to_refuse(state, command.order, entry, seen)
        if refused is not None:
            return [_rejected(command.order, entry, refused)]
        return _accepted(state, command.order, entry, seen)

    return decide


def reason_to_refuse(
    state: TaskState, order: ExecuteDelegation, entry: CatalogueEntry, seen: Seen
) -> tuple[str, str] | None:
    """Return code and detail of the first reason against *order*, None when there is none."""
    if not entry.name == order.addressee == order.delegation.specialist_id:
        return (
            "WRONG_ADDRESSEE",
            f"the order is for {order.addressee}, this is {entry.name}",
        )
    if order.attempt < state.ordered:
        return "STALE_ATTEMPT", f"attempt {order.attempt}, now it is {state.ordered}"
    if seen.cancelled:
        return "CANCELLED", "a cancellation came before the order"
    if seen.at >= order.deadline_at:
        return "DEADLINE_PASSED", "there is no time left"
    return _breach(order, entry)


def _breach(order: ExecuteDelegation, entry: CatalogueEntry) -> tuple[str, str] | None:
    delegation = order.delegation
    start, end = delegation.scope.time_range
    named = (delegation.delegation_task_id, delegation.parent_run_id)
    tools = {tool.name for tool in entry.tools}
    if named != (order.task_id, order.run_id):
        return "CONTRACT_INVALID", "order and delegation name another task or run"
    if start >= end or order.attempt < 1:
        return "CONTRACT_INVALID", "the time range is empty, or the attempt not counted"
    if not set(delegation.allowed_tools) <= tools:
        return "UNKNOWN_TOOL", _beyond(delegation.allowed_tools, tools)
    if not set(delegation.required_scopes) <= set(entry.scopes):
        return "SCOPE_NOT_HELD", _beyond(delegation.required_scopes, set(entry.scopes))
    return None


def _beyond(wanted: Sequence[str], held: set[str]) -> str:
    return f"not in the catalogue: {', '.join(sorted(set(wanted) - held))}"[:500]


def _accepted(
    state: TaskState, order: ExecuteDelegation, entry: CatalogueEntry, seen: Seen
) -> list[Payload]:
    accepted = DelegationAccepted(
        task_id=order.task_id,
        dispatch_id=order.dispatch_id,
        specialist=entry.name,
        attempt=order.attempt,
        step_id=order.delegation.step_id,
        deadline_at=order.deadline_at,
    )
    if seen.lease is None:
        return [accepted]
    return [accepted, lease_acquired(order.task_id, first_attempt(state, order), seen)]


def first_attempt(state: TaskState, order: ExecuteDelegation) -> int:
    """Return the attempt that *order* begins with: above every attempt before it."""
    return max(order.attempt, state.attempt + 1)


def lease_acquired(task_id: str, attempt: int, seen: Seen) -> LeaseAcquired:
    """Return the fact that the worker of *seen*'s lease holds the task (SCHED-08)."""
    if seen.lease is None:
        raise ValueError("there is no lease to record")
    return LeaseAcquired(
        task_id=task_id,
        worker=seen.lease.worker,
        attempt=attempt,
        lease_digest=seen.lease.digest,
        acquired_at=seen.at,
        expires_at=seen.lease.until,
    )


def _rejected(
    order: ExecuteDelegation, entry: CatalogueEntry, refused: tuple[str, str]
) -> DelegationRejected:
    return DelegationRejected(
        task_id=order.task_id,
        dispatch_id=order.dispatch_id,
        specialist=entry.name,
        attempt=order.attempt,
        step_id=order.delegation.step_id,
        reason=refused[0],
        detail=refused[1],
    )


def evolve(state: TaskState, fact: Payload) -> TaskState:
    """Return the state after *fact*."""
    match fact:
        case DelegationAccepted():
            return replace(state, ordered=fact.attempt)
        case LeaseAcquired():
            return replace(state, attempt=fact.attempt, lease_digest=fact.lease_digest)
    return state
