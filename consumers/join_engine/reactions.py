"""Facts of others to the join engine's commands. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from consumers.decider import Intent, Message
from event_schemas.deadlines import DeadlinePassed
from event_schemas.delegations import DelegationRejected
from event_schemas.payload import Payload
from event_schemas.plans import PlanAccepted
from event_schemas.registry import names
from event_schemas.results import ResultSubmitted

READS = names(PlanAccepted, ResultSubmitted, DelegationRejected, DeadlinePassed)


@dataclass(frozen=True, slots=True)
class OpenJoin:
    """Wait for the whole expected set of this plan."""

    plan: PlanAccepted


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Admit or reject this result; *tenant* is the run's, *event_id* names the submission."""

    submitted: ResultSubmitted
    tenant: str
    event_id: str


@dataclass(frozen=True, slots=True)
class FailBranch:
    """The specialist refused the order."""

    task_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExpireBranch:
    """The due time of one delegation is over."""

    task_id: str


@dataclass(frozen=True, slots=True)
class CloseJoin:
    """The due time of the join is over."""

    join_id: str


JoinCommand = OpenJoin | CheckResult | FailBranch | ExpireBranch | CloseJoin


def react(message: Message) -> Sequence[Intent]:
    """Return what the join engine has to do about *message*."""
    envelope = message.envelope
    tenant = envelope.tenantid or "-"
    command = _command(message.payload, tenant, envelope.id)
    run = envelope.runid
    if command is None or run is None:
        return []
    return [Intent(command, f"join/{run}", envelope.partitionkey or run, tenant, run)]


def _command(payload: Payload, tenant: str, event_id: str) -> JoinCommand | None:
    match payload:
        case PlanAccepted():
            return OpenJoin(payload)
        case ResultSubmitted():
            return CheckResult(payload, tenant, event_id)
        case DelegationRejected():
            return FailBranch(payload.task_id, payload.reason)
        case DeadlinePassed(about="delegation"):
            return ExpireBranch(payload.subject_id)
        case DeadlinePassed(about="join"):
            return CloseJoin(payload.subject_id)
    return None
