"""The local Kafka and PostgreSQL: data outlives kills, processes never outlive a stop."""

import psycopg


async def test_fixture_database_is_migrated(database: str) -> None:
    """Each test's database holds the current schema."""
    async with await psycopg.AsyncConnection.connect(database) as connection:
        row = await (
            await connection.execute("select to_regclass('caseops.events')::text")
        ).fetchone()

    assert row == ("caseops.events",)

async def test_k(kafka_bootstrap: str) -> None:
    """x."""
    assert kafka_bootstrap
