"""Scripted specialists over the twin: they take orders and submit what their script says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from consumers.decider import Decider, Intent, Message
from consumers.once import DecideOnce, Edges
from consumers.streams import Drafts, StreamStates
from event_schemas.delegations import DelegationAccepted, ExecuteDelegation
from event_schemas.envelope import Envelope
from event_schemas.payload import Payload, canonical
from event_schemas.registry import names
from event_schemas.results import ResultSubmitted
from infra.unit_of_work import Batch
from tests.support.twin import World
from tests.support.twin_members import PREFIX, WorkItem, WorkItems


@dataclass(frozen=True, slots=True)
class Answer:
    """A document a specialist submits, at once or not before *at*."""

    document: Mapping[str, Any]
    at: datetime | None = None

    def is_due(self, now: datetime) -> bool:
        """Say whether it can be submitted."""
        return self.at is None or self.at <= now


Script = Callable[[ExecuteDelegation], Sequence[Answer]]


def a_specialist(name: str, edges: Edges) -> DecideOnce:
    """Return a service that accepts every order on its command topic as a work item."""
    pure = Decider(
        writer="specialist",
        reads=names(ExecuteDelegation),
        react=_react,
        decide=_decide,
        evolve=lambda state, _event: state,
        initial=lambda: None,
        owns=frozenset({f"commands.{name}"}),
    )
    return DecideOnce(
        f"specialist.{name}", pure, edges, within=lambda _now: WorkItems(name)
    )


def _react(message: Message) -> list[Intent]:
    order, envelope = message.payload, message.envelope
    if not isinstance(order, ExecuteDelegation):
        return []
    key, tenant = envelope.partitionkey or "", envelope.tenantid or "-"
    return [Intent(order, f"delegation/{order.task_id}", key, tenant, envelope.runid)]


def _decide(_state: None, command: Any, _seen: None, _now: datetime) -> list[Payload]:
    if isinstance(command, ResultSubmitted):
        return [command]
    return [
        DelegationAccepted(
            task_id=command.task_id,
            dispatch_id=command.dispatch_id,
            specialist=command.addressee,
            attempt=command.attempt,
            step_id=command.delegation.step_id,
            deadline_at=command.deadline_at,
        )
    ]


def submit(world: World, service: DecideOnce, item: WorkItem, answer: Answer) -> None:
    """Record *answer* as the result of *item*, in one transaction with its count."""
    stream = item.intent.stream
    base = StreamStates(service.decider)
    base.keep({stream: (len(world.store.streams[stream]), None)})
    drafts = Drafts(service.decider, base, PREFIX, world.now)
    order = item.order
    envelope = Envelope(order.dispatch_id, "/caseops/supervisor", "", None, b"")
    cause = Message(envelope, order, f"commands.{item.specialist}", 0, 0, b"")
    drafts.add(cause, replace(item.intent, command=_submitted(order, answer.document)))
    world.store.write(Batch(service.consumer, facts=drafts.facts))
    item.answered += 1


def _submitted(order: ExecuteDelegation, document: Mapping[str, Any]) -> ResultSubmitted:
    return ResultSubmitted(
        task_id=order.task_id,
        step_id=order.delegation.step_id,
        plan_version=order.delegation.plan_version,
        attempt=1,
        content_hash=sha256(canonical(document)).hexdigest(),
        result=document,
    )
