"""The clock: database time with the stored shift that tests use; it only stamps."""

from datetime import UTC, datetime, timedelta
from time import monotonic

from psycopg_pool import AsyncConnectionPool

from infra.database import Connection, translated

REFRESH_SECONDS = 1.0


class Clock:
    """Wall clock of this host plus the installation's shift, re-read at most every second."""

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
        self._pool = pool
        self._shift = timedelta(0)
        self._read_at = float("-inf")

    async def now(self) -> datetime:
        """Return the current time, UTC; raise `Transient` while the database is away."""
        if monotonic() - self._read_at > REFRESH_SECONDS:
            async with translated(), self._pool.connection() as connection:
                row = await (
                    await connection.execute("select shift from caseops.clock")
                ).fetchone()
            self._shift = row[0] if row else timedelta(0)
            self._read_at = monotonic()
        return datetime.now(UTC) + self._shift  # noqa: TID251 - the one edge of time
