"""The supervisor, wired: what it reads, and the playbooks it may look up."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from consumers.decider import Decider, Intent
from consumers.once import DecideOnce, Edges
from consumers.supervisor import decider, reactions
from consumers.supervisor.reactions import StartRun
from event_schemas.runs import PlaybookUsed

TOPICS = ("events",)


def supervisor(
    edges: Edges, playbooks: Mapping[tuple[str, str], PlaybookUsed]
) -> DecideOnce:
    """Return the supervisor's consumer; *playbooks* by name and version."""

    async def observe(intents: Sequence[Intent]) -> Sequence[Intent]:
        return [
            replace(
                i,
                observed=playbooks[
                    i.command.accepted.playbook, i.command.accepted.playbook_version
                ],
            )
            if isinstance(i.command, StartRun)
            else i
            for i in intents
        ]

    pure = Decider(
        writer="supervisor",
        reads=reactions.READS,
        react=reactions.react,
        decide=decider.decide,
        evolve=decider.evolve,
        initial=decider.initial,
    )
    return DecideOnce("supervisor", pure, edges, observe=observe)
