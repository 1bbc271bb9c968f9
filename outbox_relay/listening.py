"""Being woken: LISTEN on a connection of its own, which only ever hurries the relay up."""

import asyncio

import structlog

from infra.database import connect, translated
from infra.errors import DependencyAway, Transient
from infra.outbox import RESCAN
from infra.wakeup import OUTBOX_CHANNEL

RECONNECT_SECONDS = 1.0

_log = structlog.get_logger()


class Wake:
    """A bell; *rescan* says that the next look must start at the oldest row."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self.rescan = True

    def ring(self, *, rescan: bool = False) -> None:
        """Wake the relay up; rings before it looks count as one."""
        self.rescan = self.rescan or rescan
        self._rung.set()

    def clear(self) -> None:
        """Forget earlier rings: the relay is about to look."""
        self._rung.clear()

    async def wait(self, seconds: float) -> None:
        """Return at the next ring, or after *seconds*."""
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            return


async def listen(url: str, wake: Wake) -> None:
    """Ring *wake* at every notification until cancelled; a lost connection is replaced."""
    while True:
        try:
            async with await connect(url, "outbox_relay") as connection, translated():
                await connection.execute(f"listen {OUTBOX_CHANNEL}")
                wake.ring(rescan=True)
                async for note in connection.notifies():
                    wake.ring(rescan=note.payload == RESCAN)
        except (DependencyAway, Transient) as error:
            # The relay polls meanwhile; it only wakes up later.
            _log.warning("relay_deaf", error=type(error).__name__)
        await asyncio.sleep(RECONNECT_SECONDS)
