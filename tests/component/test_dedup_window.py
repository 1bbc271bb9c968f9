"""How long an id is remembered."""

from consumers.deadline_clock.ticker import DEDUP_DAYS
from infra.inbox import forget_old
from tests.support.records import alert_record
from tests.support.store import edges_to, intake_over, rows


async def test_claims_beyond_the_window_are_dropped(database: str) -> None:
    """By id for 14 days, by offset for ever: an old record still does nothing again."""
    async with intake_over(database) as intake:
        await intake.handle([alert_record(0), alert_record(1)])
        await rows(
            database,
            "update inbox set seen_at = now() - interval '15 days' where id = 'event-0'",
        )
        async with (
            edges_to(database, "deadline_clock", "deadline_clock") as edges,
            edges.pool.connection() as connection,
        ):
            dropped = await forget_old(connection, DEDUP_DAYS)
        before = await rows(database, "select count(*) from events")
        await intake.handle([alert_record(0)])

    assert 1 == dropped
    assert [("event-1",)] == await rows(database, "select id from inbox")
    assert [("claimed", 1)] == await rows(database, "select reason, count from skips")
    assert before == await rows(database, "select count(*) from events")
