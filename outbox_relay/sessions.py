"""One session of the relay: its connections, the check of the log, and starting over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
from outbox_relay.listening import Wake
from outbox_relay.log_check import LogTopic, check_log
from outbox_relay.relay import Relay

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


async def publish(
    place: Place, wake: Wake, stop: asyncio.Event, health: RelayHealth
) -> None:
    """Publish until *stop* is set; a lost connection ends the session and begins another."""
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
