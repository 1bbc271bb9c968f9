"""The deadline clock, wired: it watches facts; its ticker tells when a time is over."""

from consumers.deadline_clock import decider
from consumers.deadline_clock.table import DeadlineRows
from consumers.decider import Decider
from consumers.once import DecideOnce, Edges

TOPICS = ("events",)


def watcher(edges: Edges) -> DecideOnce:
    """Return the consumer that keeps the rows of open due times."""
    pure = Decider(
        writer="deadline_clock",
        reads=decider.READS,
        react=decider.react,
        decide=decider.decide,
        evolve=decider.evolve,
        initial=decider.initial,
    )
    return DecideOnce("deadline_clock", pure, edges, within=lambda _now: DeadlineRows())
