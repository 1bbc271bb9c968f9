"""Deciders as specifications: given facts, when a command comes, then these facts follow."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

from event_schemas.payload import Payload
from tests.support.builders import BEGAN


class Rules(Protocol):
    """The three pure functions of a decider; its module has them."""

    @property
    def decide(self) -> Callable[[Any, Any, Any, datetime], Sequence[Payload]]:
        """Return the facts that follow from a command."""

    @property
    def evolve(self) -> Callable[[Any, Payload], Any]:
        """Return the state after a fact."""

    @property
    def initial(self) -> Callable[[], Any]:
        """Return the state before any fact."""


When = Callable[..., list[Payload]]


def state_of(rules: Rules, *facts: Payload) -> Any:
    """Return the state of *rules* after *facts*."""
    state = rules.initial()
    for fact in facts:
        state = rules.evolve(state, fact)
    return state


def given(rules: Rules, *facts: Payload) -> When:
    """Return what answers a command (with `observed` and `now`) after *facts*."""
    state = state_of(rules, *facts)

    def when(command: Any, observed: Any = None, now: datetime = BEGAN) -> list[Payload]:
        return list(rules.decide(state, command, observed, now))

    return when


def names_of(facts: Sequence[Payload]) -> list[str]:
    """Return the class names of *facts*, in order."""
    return [type(fact).__name__ for fact in facts]
