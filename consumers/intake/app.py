"""Intake, wired: what it reads, and its tables inside the transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

from consumers.decider import Decider
from consumers.intake import decider, reactions
from consumers.intake.table import CaseBook
from consumers.once import DecideOnce, Edges
from event_schemas.playbooks import Directory, Playbook

TOPICS = ("alerts", "requests", "events")


@dataclass(frozen=True, slots=True)
class Policy:
    """What an installation lets in, and how it sorts it."""

    directory: Directory
    playbooks: Sequence[Playbook]
    allowed_tenants: Sequence[str]
    local_mode: bool


def intake(edges: Edges, policy: Policy) -> DecideOnce:
    """Return the intake consumer."""
    pure = Decider(
        writer="intake",
        reads=reactions.READS,
        react=reactions.react,
        decide=decider.decide,
        evolve=decider.evolve,
        initial=decider.initial,
        parse=reactions.parser(policy.allowed_tenants, local_mode=policy.local_mode),
        owns=frozenset({"alerts", "requests"}),
    )
    return DecideOnce(
        "intake",
        pure,
        edges,
        within=lambda now: CaseBook(policy.directory, policy.playbooks, now),
    )
