"""Facts of others to the supervisor's commands. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from consumers.decider import Intent, Message
from event_schemas.cases import IntakeAccepted
from event_schemas.delegations import DelegationRejected
from event_schemas.joins import JoinClosed
from event_schemas.payload import Payload
from event_schemas.registry import names
from event_schemas.results import ResultAccepted, ResultLate, ResultRejected

READS = names(
    IntakeAccepted,
    ResultAccepted,
    ResultRejected,
    ResultLate,
    DelegationRejected,
    JoinClosed,
)


@dataclass(frozen=True, slots=True)
class StartRun:
    """Begin the run that intake accepted."""

    accepted: IntakeAccepted


@dataclass(frozen=True, slots=True)
class EndTask:
    """A delegation reached its end: accepted, rejected by the join or by the specialist."""

    fact: ResultAccepted | ResultRejected | DelegationRejected


@dataclass(frozen=True, slots=True)
class Consolidate:
    """The join concluded: judge and complete."""

    closed: JoinClosed


@dataclass(frozen=True, slots=True)
class Revise:
    """A late result that the join's policy lets into a new revision."""

    late: ResultLate


def react(message: Message) -> Sequence[Intent]:
    """Return what the supervisor has to do about *message*."""
    command = _command(message.payload)
    run = message.envelope.runid
    if command is None or run is None:
        return []
    key = message.envelope.partitionkey or run
    tenant = message.envelope.tenantid or "-"
    return [Intent(command, f"run/{run}", key, tenant, run)]


def _command(
    payload: Payload,
) -> StartRun | EndTask | Consolidate | Revise | None:
    match payload:
        case IntakeAccepted():
            return StartRun(payload)
        case ResultAccepted() | ResultRejected() | DelegationRejected():
            return EndTask(payload)
        case JoinClosed():
            return Consolidate(payload)
        case ResultLate(merge=True):
            return Revise(payload)
    return None
