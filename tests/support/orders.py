"""Delivery orders as tapes of numbers: drawn from a seed, replayed, shrunk when they fail."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Protocol, TypeVar

Tape = tuple[int, ...]
TAPE_LENGTH = 64
LONGEST_LEAD = 80
Act = tuple[str, Callable[[], object]]
LONGEST_RUN = 3000


@dataclass(frozen=True, slots=True)
class Draw:
    """One number of a tape: which act comes next, on which partition, with how many records.

    Zero is the plain order: the first act that makes progress, on all that waits.
    """

    number: int

    @property
    def disturbs(self) -> bool:
        """Say whether a crash, a repeat or a rewind comes next."""
        return self.number % 4 == 3

    @property
    def act(self) -> int:
        """The place of the act among those that are possible."""
        return self.number // 4 % 64

    @property
    def which(self) -> int:
        """The place of a partition, an alert or a task among those that are possible."""
        return self.number // 256 % 8

    @property
    def count(self) -> int:
        """How many records are taken, or how far a member goes back."""
        return 1 + (self.number // 2048 % 8) ** 2 // 2 if self.number else 50


class Steppable(Protocol):
    """A system that is moved one act at a time."""

    def progress(self, draw: Draw) -> Iterator[Act]:
        """Yield the acts that get on with the work."""

    def disturbances(self, draw: Draw) -> Iterator[Act]:
        """Yield the acts that only harm."""

    def rest(self) -> bool:
        """Let time pass until something happens by itself; say whether something will."""


Moved = TypeVar("Moved", bound=Steppable)


@dataclass(slots=True)
class Run:
    """A system moved along a tape and then in plain order, until nothing is left to do."""

    system: Steppable
    trace: list[str] = field(default_factory=list)

    def along(self, tape: Tape) -> None:
        """Follow *tape*, then finish."""
        for number in tape:
            self.step(Draw(number))
        plain = Draw(0)
        for _ in range(LONGEST_RUN):
            if not self.step(plain) and not self.system.rest():
                return
        raise AssertionError("the system never comes to rest")

    def step(self, draw: Draw) -> bool:
        """Do one act; say whether there was one that makes progress."""
        possible = self.system.disturbances if draw.disturbs else self.system.progress
        acts = list(islice(possible(draw), None if draw.number else 1))
        if acts:
            name, act = acts[draw.act % len(acts)]
            self.trace.append(name)
            act()
        return bool(acts)


def drawn(seed: int, length: int = TAPE_LENGTH) -> Tape:
    """Return the tape of *seed*: plain up to anywhere in a run, from there on wild."""
    draw = Random(seed)
    plain = (0,) * draw.randrange(LONGEST_LEAD)
    return (*plain, *(draw.randrange(1, 16384) for _ in range(length)))


def shrunk(tape: Tape, fails: Callable[[Tape], bool]) -> Tape:
    """Return a tape that still *fails*, with no number left that could be dropped or zeroed."""
    size = max(1, len(tape) // 2)
    while size:
        at = 0
        while at < len(tape):
            shorter = tape[:at] + tape[at + size :]
            plainer = tape[:at] + (0,) * len(tape[at : at + size]) + tape[at + size :]
            if fails(shorter):
                tape = shorter
                continue
            if plainer != tape and fails(plainer):
                tape = plainer
            at += size
        size //= 2
    return tape


def assert_in_any_order(
    orders: range, fresh: Callable[[], Moved], check: Callable[[Moved], None]
) -> None:
    """Run a *fresh* system along each of *orders* (seeds) and *check* it at rest.

    A failure names its seed and the shortest order that still fails, act by act.
    """
    for seed in orders:
        tape = drawn(seed)
        if _failure(tape, fresh, check):
            short = shrunk(tape, lambda each: _failure(each, fresh, check) is not None)
            raise AssertionError(f"seed {seed}: {_failure(short, fresh, check)}")


def _failure(
    tape: Tape, fresh: Callable[[], Moved], check: Callable[[Moved], None]
) -> str | None:
    system = fresh()
    run = Run(system)
    try:
        run.along(tape)
        check(system)
    except Exception as error:  # noqa: BLE001 - whatever breaks is what we look for
        acts = run.trace[: len(tape)]
        return f"{type(error).__name__}: {error}\ntape {tape}\n" + "\n".join(acts)
    return None
