"""The relay, wired: connections, the check of the log, and starting over after a loss."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog

from event_schemas.topics import EVENTS, full_name
from infra.database import connect
from infra.errors import DependencyAway, Transient
from infra.outbox import Outbox
from outbox_relay import metrics
from outbox_relay.backoff import Backoff
from outbox_relay.delivery import Delivery
from outbox_relay.health import RelayHealth
from outbox_relay.listening import Wake, listen
from outbox_relay.log_check import LogTopic, check_log
from outbox_relay.relay import Relay

STOP_SECONDS = 10.0

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a relay works: database, brokers, prefix of the topics."""

    url: str
    bootstrap: str
    prefix: str

    @property
    def log_topic(self) -> str:
        """Full name of the topic that carries the event log."""
        return full_name(self.prefix, EVENTS.name)


async def run(place: Place, stop: asyncio.Event, health: RelayHealth) -> None:
    """Publish the outbox until *stop* is set; raise `MustStop` when the log is ahead.

    Lost connections are replaced for as long as it takes. A batch in flight at *stop* is
    finished, or given up after ten seconds and sent again by the next relay.
    """
    wake = Wake()
    ears = asyncio.create_task(listen(place.url, wake))
    work = asyncio.create_task(_work(place, wake, stop, health))
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


async def _work(place: Place, wake: Wake, stop: asyncio.Event, health: RelayHealth) -> None:
    backoff = Backoff()
    while not stop.is_set():
        try:
            async with _relay(place, wake) as relay:
                backoff.reset()
                await relay.work(wake, stop, health)
        except (DependencyAway, Transient) as error:
            health.ready = False
            metrics.ERRORS.labels(type(error).__name__).inc()
            _log.warning("relay_starts_over", error=str(error))
            await backoff.wait()


@asynccontextmanager
async def _relay(place: Place, wake: Wake) -> AsyncIterator[Relay]:
    async with await connect(place.url, "outbox_relay") as connection:
        outbox = Outbox(connection)
        await outbox.prepare()
        delivery = Delivery(place.bootstrap, lambda: wake.ring(rescan=True))
        try:
            log = LogTopic(place.log_topic, await delivery.open(place.log_topic))
            await check_log(connection, place.bootstrap, log)
            wake.ring(rescan=True)
            yield Relay(outbox, delivery, place.log_topic)
        finally:
            await delivery.close()
