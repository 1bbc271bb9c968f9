"""Consumers over a real database, and what it holds afterwards."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from caseops import playbooks
from consumers.intake.app import Policy, intake
from consumers.once import DecideOnce, Edges
from event_schemas.envelope import Envelope
from infra import database
from infra.clock import Clock
from infra.event_log import COLUMNS, recorded
from infra.observability import ConsumerMetrics
from infra.wakeup import Wakeup


@asynccontextmanager
async def edges_to(
    url: str, consumer: str, writer: str, prefix: str = "caseops"
) -> AsyncIterator[Edges]:
    """Give the edges of one consumer over the database at *url*."""
    pool = database.pool(url, writer)
    await pool.open()
    try:
        yield Edges(pool, Clock(pool), Wakeup(pool), ConsumerMetrics(consumer), prefix)
    finally:
        await pool.close()


@asynccontextmanager
async def intake_over(url: str) -> AsyncIterator[DecideOnce]:
    """Give an intake consumer with the reference playbooks."""
    async with edges_to(url, "intake", "intake") as edges:
        yield intake(
            edges, Policy(playbooks.load_directory(), playbooks.load(), (), local_mode=True)
        )


async def rows(url: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return the rows of *query* on the database at *url*, read by its owner."""
    async with await psycopg.AsyncConnection.connect(
        url, autocommit=True, options="-c search_path=caseops -c timezone=UTC"
    ) as connection:
        cursor = await connection.execute(query, values)
        return await cursor.fetchall() if cursor.description else []


async def log_of(url: str) -> list[Envelope]:
    """Return all events of the store in order."""
    found = await rows(url, f"select {COLUMNS} from events order by position")
    return [recorded(row).envelope for row in found]
