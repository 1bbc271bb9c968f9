"""Wake the relay: one NOTIFY after the commit, coalesced over the batches of a process."""

import asyncio

from psycopg_pool import AsyncConnectionPool

from infra.database import Connection, translated
from infra.errors import Transient

OUTBOX_CHANNEL = "caseops_outbox"
PAUSE = 1.0


class Wakeup:
    """Sends NOTIFY from its own task; losing one costs a poll interval, nothing else."""

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
        self._pool = pool
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Say that there is something to publish; returns at once."""
        self._rung.set()

    async def run(self) -> None:
        """Send one NOTIFY for all rings since the last one, until cancelled."""
        while True:
            await self._rung.wait()
            self._rung.clear()
            try:
                async with translated(), self._pool.connection() as connection:
                    await connection.execute(f"notify {OUTBOX_CHANNEL}")
            except Transient:
                # The relay polls as well: what waits is not lost, only not hurried.
                await asyncio.sleep(PAUSE)
