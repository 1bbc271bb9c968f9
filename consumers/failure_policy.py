"""What to do when a batch fails: retry, decide again, split, park. Pure."""

from enum import Enum

from infra.errors import ConcurrentWrite, MustStop, NotPermitted, Poison, Transient

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 5.0
IMMEDIATE_CONFLICTS = 5


class Step(Enum):
    """The next step after a failed batch."""

    RETRY = "retry"
    DECIDE_AGAIN = "decide_again"
    SPLIT = "split"
    PARK = "park"
    STOP = "stop"


def next_step(error: Exception, *, attempt: int, records: int) -> Step:
    """Return what follows *error* on the *attempt*-th try (from 1) of a batch of *records*."""
    if isinstance(error, MustStop):
        return Step.STOP
    if isinstance(error, Transient):
        return Step.RETRY
    if isinstance(error, ConcurrentWrite):
        return Step.DECIDE_AGAIN if attempt <= IMMEDIATE_CONFLICTS else Step.RETRY
    if isinstance(error, Poison | NotPermitted):
        return Step.SPLIT if records > 1 else Step.PARK
    return Step.STOP


def pause(attempt: int, jitter: float) -> float:
    """Return seconds to wait before the next try; *jitter* is in 0..1."""
    whole: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt - 1, 10))
    return whole * (0.5 + jitter / 2)


def code_of(error: Exception) -> tuple[str, str]:
    """Return stable code and detail under which a record is parked for *error*."""
    if isinstance(error, Poison):
        return error.code, error.detail
    if isinstance(error, NotPermitted):
        return "NOT_PERMITTED", str(error)
    return "HANDLER_FAILED", f"{type(error).__name__}: {error}"
