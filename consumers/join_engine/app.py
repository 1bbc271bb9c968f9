"""The join engine, wired."""

from consumers.decider import Decider
from consumers.join_engine import decider, reactions
from consumers.join_engine.observe import DigestOf, observer
from consumers.once import DecideOnce, Edges

TOPICS = ("events",)


def join_engine(edges: Edges, digest_of: DigestOf) -> DecideOnce:
    """Return the join engine's consumer."""
    pure = Decider(
        writer="join_engine",
        reads=reactions.READS,
        react=reactions.react,
        decide=decider.decide,
        evolve=decider.evolve,
        initial=decider.initial,
    )
    return DecideOnce("join_engine", pure, edges, observe=observer(digest_of))
