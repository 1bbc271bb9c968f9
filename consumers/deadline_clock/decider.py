"""Which due times a fact opens or ends. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from consumers.decider import Intent, Message
from event_schemas.delegations import DelegationCompleted, DelegationCreated
from event_schemas.joins import JoinClosed, JoinOpened
from event_schemas.payload import Payload
from event_schemas.registry import names
from event_schemas.runs import IncidentStarted, RunCompleted

About = Literal["run", "join", "delegation"]
READS = names(
    IncidentStarted,
    JoinOpened,
    DelegationCreated,
    DelegationCompleted,
    JoinClosed,
    RunCompleted,
)


@dataclass(frozen=True, slots=True)
class Watch:
    """Tell when this time is over."""

    about: About
    subject_id: str
    due_at: datetime
    cause_id: str


@dataclass(frozen=True, slots=True)
class Forget:
    """Nobody waits for this any more; *about* None: for nothing of the run."""

    about: About | None
    subject_id: str


def react(message: Message) -> Sequence[Intent]:
    """Return what the clock has to watch or to forget after *message*."""
    envelope = message.envelope
    command = _command(message.payload, envelope.id)
    run = envelope.runid
    if command is None or run is None:
        return []
    key = envelope.partitionkey or run
    return [Intent(command, f"deadline/{run}", key, envelope.tenantid or "-", run)]


def _command(payload: Payload, cause: str) -> Watch | Forget | None:
    match payload:
        case IncidentStarted():
            return Watch("run", payload.run_id, payload.deadline_at, cause)
        case JoinOpened():
            return Watch("join", payload.join_id, payload.contract.deadline_at, cause)
        case DelegationCreated():
            due = payload.delegation.deadline_at
            return Watch("delegation", payload.task_id, due, cause)
        case DelegationCompleted():
            return Forget("delegation", payload.task_id)
        case JoinClosed():
            return Forget("join", payload.join_id)
        case RunCompleted():
            return Forget(None, payload.run_id)
    return None


def decide(
    state: None,
    command: Watch | Forget,
    observed: None,
    now: datetime,
) -> Sequence[Payload]:
    """Return no facts: watching is a row; only a due time is a fact."""
    return []


def evolve(state: None, event: Payload) -> None:
    """Return no state."""


def initial() -> None:
    """Return no state."""
