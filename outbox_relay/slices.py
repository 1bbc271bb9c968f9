"""Who publishes which slice: session-level advisory locks, shared fairly among relays.

Every relay holds one shared lock that says it is there; counting its holders gives the fair
share. The locks live and die with the connection that also selects and deletes.
"""

from infra.database import Connection, translated
from infra.outbox import array_text

SLICES = 64
LOCK_CLASS = 0x0CA5E
PRESENCE = SLICES

_HOLDERS = """
select objid::int, pid from pg_locks
 where locktype = 'advisory' and classid = %s and objsubid = 2 and granted
   and database = (select oid from pg_database where datname = current_database())
"""


class Slices:
    """The slices one relay owns."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.owned: frozenset[int] = frozenset()

    async def join(self) -> None:
        """Become one of the relays; the lock ends with the connection."""
        async with translated():
            await self._connection.execute(
                "select pg_advisory_lock_shared(%s, %s)", (LOCK_CLASS, PRESENCE)
            )

    async def balance(self) -> bool:
        """Take free slices up to the fair share, or release what exceeds it; say if any came.

        To be called between batches only: nothing of a released slice may be in flight.
        """
        async with translated():
            cursor = await self._connection.execute(_HOLDERS, (LOCK_CLASS,), prepare=True)
            rows = await cursor.fetchall()
        relays = sum(1 for slice_, _ in rows if slice_ == PRESENCE)
        share = fair_share(relays)
        before = self.owned
        if len(before) > share:
            await self._release(sorted(before)[share:])
        elif len(before) < share:
            taken = {slice_ for slice_, _ in rows}
            free = [number for number in range(SLICES) if number not in taken]
            await self._take(free[: share - len(before)])
        return not self.owned <= before

    async def _take(self, wanted: list[int]) -> None:
        async with translated():
            cursor = await self._connection.execute(
                "select number, pg_try_advisory_lock(%s, number)"
                " from unnest(%s::int[]) number",
                (LOCK_CLASS, array_text(wanted)),
            )
            self.owned |= {row[0] async for row in cursor if row[1]}

    async def _release(self, surplus: list[int]) -> None:
        async with translated():
            await self._connection.execute(
                "select pg_advisory_unlock(%s, number) from unnest(%s::int[]) number",
                (LOCK_CLASS, array_text(surplus)),
            )
        self.owned -= frozenset(surplus)


def fair_share(relays: int) -> int:
    """Return how many slices each of *relays* aims at."""
    return -(-SLICES // max(1, relays))
