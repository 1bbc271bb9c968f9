"""Whether a specialist takes an order on: every reason against it, in a fixed order."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from consumers.specialists.catalogue import BY_NAME
from consumers.specialists.orders import (
    GiveUp,
    NewLease,
    Seen,
    TakeOn,
    TaskState,
    decider,
    digest_of,
    first_attempt,
    lease_acquired,
    reason_to_refuse,
)
from event_schemas.delegations import (
    DelegationAccepted,
    DelegationRejected,
    LeaseAcquired,
)
from event_schemas.payload import Payload
from tests.support.specialist_desk import a_cancel, an_order

AT = datetime(2026, 7, 23, 2, 2, 5, tzinfo=UTC)
LEASE = NewLease("token", digest_of("token"), "logs-1", AT + timedelta(seconds=30))
SEEN = Seen(AT, lease=LEASE)
LOGS = BY_NAME["logs"]
DECIDER = decider(LOGS)


def decide(
    state: TaskState, command: TakeOn | GiveUp, seen: Seen = SEEN
) -> tuple[Payload, ...]:
    """Return what the logs specialist decides."""
    return tuple(DECIDER.decide(state, command, seen, AT))


def after(facts: tuple[Payload, ...], state: TaskState | None = None) -> TaskState:
    """Return the state after *facts*."""
    state = state or TaskState()
    for fact in facts:
        state = DECIDER.evolve(state, fact)
    return state


def order(**changes: Any) -> TakeOn:
    """Return an order to the logs specialist, with *changes*."""
    return TakeOn(an_order(**changes), "order-1")


@pytest.mark.parametrize(
    ("changes", "seen", "reason"),
    [
        ({"addressee": "metrics"}, SEEN, "WRONG_ADDRESSEE"),
        ({"delegation": {"specialist_id": "metrics"}}, SEEN, "WRONG_ADDRESSEE"),
        ({"attempt": 0}, SEEN, "CONTRACT_INVALID"),
        ({}, Seen(AT, cancelled=True), "CANCELLED"),
        ({"deadline_at": "2026-07-23T02:02:05Z"}, SEEN, "DEADLINE_PASSED"),
        ({"delegation": {"delegation_task_id": "other"}}, SEEN, "CONTRACT_INVALID"),
        ({"delegation": {"parent_run_id": "other"}}, SEEN, "CONTRACT_INVALID"),
        (
            {
                "delegation": {
                    "scope": {
                        "services": ["payment-api"],
                        "time_range": ["2026-07-23T02:02:00Z", "2026-07-23T01:45:00Z"],
                    }
                }
            },
            SEEN,
            "CONTRACT_INVALID",
        ),
        ({"delegation": {"allowed_tools": ["rollback@1"]}}, SEEN, "UNKNOWN_TOOL"),
        ({"delegation": {"allowed_tools": ["search_logs@1"]}}, SEEN, "UNKNOWN_TOOL"),
        ({"delegation": {"required_scopes": ["change:write"]}}, SEEN, "SCOPE_NOT_HELD"),
    ],
)
def test_an_order_is_refused_with_its_reason(
    changes: dict[str, Any], seen: Seen, reason: str
) -> None:
    """Each breach of the contract has one stable reason (SCHED-19, SPEC-04)."""
    [fact] = decide(TaskState(), order(**changes), seen)

    assert isinstance(fact, DelegationRejected)
    assert reason == fact.reason


def test_a_good_order_is_taken_on_under_its_lease() -> None:
    """Acceptance and lease are two facts; the token is only there as its digest (SCHED-08)."""
    accepted, lease = decide(TaskState(), order())

    assert isinstance(accepted, DelegationAccepted)
    assert (
        LeaseAcquired(
            task_id="task-1",
            worker="logs-1",
            attempt=1,
            lease_digest=digest_of("token"),
            acquired_at=AT,
            expires_at=LEASE.until,
        )
        == lease
    )


def test_without_a_free_worker_there_is_no_lease() -> None:
    """The order is accepted and waits."""
    [fact] = decide(TaskState(), order(), Seen(AT))

    assert isinstance(fact, DelegationAccepted)


def test_the_same_attempt_again_is_nothing() -> None:
    """A known task and attempt is idempotent, even past its deadline."""
    state = after(decide(TaskState(), order()))

    assert () == decide(state, order(), Seen(AT + timedelta(days=40_000)))


def test_a_later_attempt_is_taken_on_above_all_before() -> None:
    """Attempts of leases and of orders never share a number."""
    state = after(decide(TaskState(), order()))
    state = DECIDER.evolve(state, lease_acquired("task-1", 2, SEEN))
    _, lease = decide(state, order(attempt=2))

    assert isinstance(lease, LeaseAcquired)
    assert 3 == lease.attempt == first_attempt(state, an_order(attempt=2))


def test_an_earlier_attempt_is_stale() -> None:
    """An order that was replaced is refused."""
    state = after(decide(TaskState(), order(attempt=2)))

    refused = reason_to_refuse(state, an_order(attempt=1), LOGS, SEEN)
    assert refused is not None
    assert "STALE_ATTEMPT" == refused[0]


def test_a_cancel_is_no_fact() -> None:
    """Cancelling changes the work item; the supervisor records the end of the delegation."""
    assert () == decide(TaskState(), GiveUp(a_cancel(), "order-2"))


def test_only_the_last_lease_is_known() -> None:
    """A token of an earlier lease no longer holds the task (SCHED-10)."""
    state = after(decide(TaskState(), order()))

    assert state.is_held_with("token")
    assert not state.is_held_with("other")
    assert not state.is_held_with(None)
    assert not TaskState().is_held_with("token")
