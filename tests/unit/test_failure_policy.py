"""What follows a failed batch, by table."""

import pytest

from consumers.failure_policy import (
    FIRST_PAUSE,
    IMMEDIATE_CONFLICTS,
    LONGEST_PAUSE,
    Step,
    code_of,
    next_step,
    pause,
)
from infra.errors import ConcurrentWrite, MustStop, NotPermitted, Poison, Transient

STEPS = [
    (MustStop("LOG_AHEAD", "m"), 1, 5, Step.STOP),
    (Transient("away"), 1, 5, Step.RETRY),
    (Transient("away"), 10_000, 1, Step.RETRY),
    (ConcurrentWrite("guard"), 1, 5, Step.DECIDE_AGAIN),
    (ConcurrentWrite("guard"), IMMEDIATE_CONFLICTS, 5, Step.DECIDE_AGAIN),
    (ConcurrentWrite("guard"), IMMEDIATE_CONFLICTS + 1, 5, Step.RETRY),
    (Poison("TOO_LARGE", "d"), 1, 2, Step.SPLIT),
    (Poison("TOO_LARGE", "d"), 1, 1, Step.PARK),
    (NotPermitted("role"), 1, 2, Step.SPLIT),
    (NotPermitted("role"), 1, 1, Step.PARK),
    (KeyError("bug"), 1, 1, Step.STOP),
]


@pytest.mark.parametrize(("error", "attempt", "records", "step"), STEPS)
def test_an_error_has_one_next_step(
    error: Exception, attempt: int, records: int, step: Step
) -> None:
    """EVT-07: transient faults retry for ever, poison is parked, a lost record never is."""
    assert step is next_step(error, attempt=attempt, records=records)


def test_pauses_grow_to_a_limit_and_are_spread() -> None:
    """Doubling from the first pause; jitter takes up to half of it away."""
    assert [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE] == [
        pause(attempt, 1) for attempt in (1, 2, 3)
    ]
    assert LONGEST_PAUSE == pause(1_000_000, 1)
    assert LONGEST_PAUSE / 2 == pause(1_000_000, 0)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Poison("TOO_LARGE", "far"), ("TOO_LARGE", "far")),
        (NotPermitted("row policy"), ("NOT_PERMITTED", "row policy")),
        (ValueError("odd"), ("HANDLER_FAILED", "ValueError: odd")),
    ],
)
def test_a_parked_record_has_a_stable_code(error: Exception, code: tuple[str, str]) -> None:
    """People and tools look for codes, never for messages."""
    assert code == code_of(error)
