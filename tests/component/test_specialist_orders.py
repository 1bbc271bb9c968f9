"""Orders to a specialist on a real database: rows and facts in one transaction."""

from typing import Any

import pytest

from event_schemas.delegations import (
    DelegationAccepted,
    DelegationRejected,
    LeaseAcquired,
)
from tests.support.records import RawRecord
from tests.support.specialist_desk import (
    QUICK,
    a_cancel,
    an_order,
    names,
    order_record,
    recorded,
    specialist,
)
from tests.support.store import log_of, rows

ACCEPTED = ["DelegationAccepted", "LeaseAcquired"]


async def states(database: str) -> list[tuple[Any, ...]]:
    """Return task, state and attempt of all rows."""
    return await rows(database, "select task_id, state, attempt from work_items order by 1")


async def test_an_order_is_taken_on_with_its_lease(database: str) -> None:
    """Acceptance writes the row already leased, and both facts beside it (SCHED-08)."""
    async with specialist(database, running=False) as app:
        await app.handle([order_record(0, an_order())])

    [accepted, lease] = await recorded(database, DelegationAccepted, LeaseAcquired)
    assert isinstance(accepted, DelegationAccepted)
    assert isinstance(lease, LeaseAcquired)
    assert ("task-1", "logs", 1) == (
        accepted.task_id,
        accepted.specialist,
        accepted.attempt,
    )
    assert QUICK.lease == (lease.expires_at - lease.acquired_at).total_seconds()
    assert [("task-1", "leased", 1)] == await states(database)


async def test_the_lease_token_is_never_published(database: str) -> None:
    """Only the digest of the token is on the log (decisions 1)."""
    async with specialist(database, running=False) as app:
        await app.handle([order_record(0, an_order())])

    [(token, digest)] = await rows(
        database,
        "select lease_token, encode(sha256(lease_token::bytea), 'hex') from work_items",
    )
    [lease] = await recorded(database, LeaseAcquired)
    assert isinstance(lease, LeaseAcquired)
    assert digest == lease.lease_digest
    assert all(token.encode() not in envelope.data for envelope in await log_of(database))


async def test_facts_have_the_form_of_the_log(database: str) -> None:
    """Facts lie in the task's stream under the run's key, caused by the order."""
    async with specialist(database, running=False) as app:
        await app.handle([order_record(0, an_order())])

    order = an_order()
    for number, envelope in enumerate(await log_of(database), start=1):
        assert (
            "delegation/task-1",
            number,
            order.run_id,
            order.run_id,
            "order-0",
            "/caseops/specialist",
            "prod-cn",
        ) == (
            envelope.subject,
            envelope.streamversion,
            envelope.partitionkey,
            envelope.runid,
            envelope.causationid,
            envelope.source,
            envelope.tenantid,
        )


@pytest.mark.parametrize("identity", ["order-0", "order-again"])
async def test_the_same_order_again_changes_nothing(database: str, identity: str) -> None:
    """A repeated order for a known task and attempt is idempotent, whatever its id."""
    async with specialist(database, running=False) as app:
        await app.handle([order_record(0, an_order())])
        before = await rows(database, "select * from work_items")
        await app.handle([order_record(1, an_order(), identity)])

    assert await names(database) == ACCEPTED
    assert before == await rows(database, "select * from work_items")


async def test_an_order_without_a_free_worker_waits(database: str) -> None:
    """What no worker can take is accepted and waits; it has no lease yet."""
    async with specialist(database, running=False) as app:
        await app.handle([order_record(n, an_order(f"task-{n}")) for n in range(5)])

    assert [("leased", 4), ("waiting", 1)] == await rows(
        database, "select state, count(*) from work_items group by 1 order by 1"
    )
    assert 5 == len(await recorded(database, DelegationAccepted))
    assert 4 == len(await recorded(database, LeaseAcquired))


async def test_a_refused_order_leaves_no_row(database: str) -> None:
    """A refusal is a fact with its reason, next to an order that is taken on."""
    late = an_order("task-2", deadline_at="2020-01-01T00:00:00Z")
    async with specialist(database, running=False) as app:
        await app.handle([order_record(0, late), order_record(1, an_order())])

    [refused] = await recorded(database, DelegationRejected)
    assert isinstance(refused, DelegationRejected)
    assert "DEADLINE_PASSED" == refused.reason
    assert [("task-1", "leased", 1)] == await states(database)


async def test_a_cancel_closes_the_row(database: str) -> None:
    """Cancelling is an order too: the row is cancelled, nothing is recorded."""
    async with specialist(database, running=False) as app:
        await app.handle([order_record(0, an_order())])
        await app.handle([order_record(1, a_cancel())])

    assert [("task-1", "cancelled", 1)] == await states(database)
    assert await names(database) == ACCEPTED


async def test_a_cancel_in_the_same_batch_stops_the_order(database: str) -> None:
    """An order and its cancel that come together begin no work."""
    async with specialist(database) as app:
        await app.handle([order_record(0, an_order()), order_record(1, a_cancel())])
        assert QUICK.workers == app.workers.free

    assert [("task-1", "cancelled", 1)] == await states(database)


async def test_a_cancel_that_comes_first_is_honoured(database: str) -> None:
    """An order that comes after its cancel is refused."""
    async with specialist(database, running=False) as app:
        await app.handle([order_record(0, a_cancel()), order_record(1, an_order())])
        await app.handle([order_record(2, an_order(attempt=2))])

    refused = await recorded(database, DelegationRejected)
    assert ["CANCELLED", "CANCELLED"] == [
        fact.reason for fact in refused if isinstance(fact, DelegationRejected)
    ]
    assert ["DelegationRejected"] * 2 == await names(database)


async def test_a_later_attempt_replaces_the_earlier(database: str) -> None:
    """A new attempt gets the row under a new token; the old attempt is then refused."""
    async with specialist(database, running=False) as app:
        await app.handle([order_record(0, an_order())])
        [(first,)] = await rows(database, "select lease_token from work_items")
        await app.handle([order_record(1, an_order(attempt=2))])
        await app.handle([order_record(2, an_order())])

    [(second, attempt)] = await rows(
        database, "select lease_token, attempt from work_items"
    )
    [refused] = await recorded(database, DelegationRejected)
    assert isinstance(refused, DelegationRejected)
    assert first != second
    assert 2 == attempt
    assert "STALE_ATTEMPT" == refused.reason


async def test_an_unreadable_order_is_parked(database: str) -> None:
    """The specialist answers for its topic: what it cannot read is a dead letter."""
    bad = RawRecord("caseops.commands.logs", 0, 0, b"k", b"{", [("ce_type", b"what")])
    async with specialist(database, running=False) as app:
        await app.handle([bad, order_record(1, an_order())])

    assert [("specialist.logs", "SCHEMA_UNKNOWN")] == await rows(
        database, "select consumer, reason from dead_letters"
    )
    assert await names(database) == ACCEPTED
