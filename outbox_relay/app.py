"""The relay, wired: what listens, what works, and how both end."""

import asyncio
from contextlib import suppress

from outbox_relay.health import RelayHealth
from outbox_relay.listening import Wake, listen
from outbox_relay.sessions import Place, publish

STOP_SECONDS = 10.0

__all__ = ["Place", "RelayHealth", "run"]


async def run(place: Place, stop: asyncio.Event, health: RelayHealth) -> None:
    """Publish the outbox until *stop* is set; raise `MustStop` when the log is ahead.

    Lost connections are replaced for as long as it takes. A batch in flight at *stop* is
    finished, or given up after ten seconds and sent again by the next relay.
    """
    wake = Wake()
    ears = asyncio.create_task(listen(place.url, wake))
    work = asyncio.create_task(publish(place, wake, stop, health))
    halt = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({work, halt}, return_when=asyncio.FIRST_COMPLETED)
        wake.ring()
        await asyncio.wait({work}, timeout=STOP_SECONDS)
    finally:
        health.ready = False
        for task in (work, ears, halt):
            task.cancel()
        await asyncio.gather(work, ears, halt, return_exceptions=True)
    with suppress(asyncio.CancelledError):
        work.result()
