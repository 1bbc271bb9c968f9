"""The edge to Kafka: a FastStream batch subscriber that hands raw records to one handler.

Positions come from `consumer_progress`, never from Kafka's committed offsets (those are
written lazily, for lag tools). One batch at a time runs under a lock that a rebalance waits for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import structlog
from aiokafka import TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import KafkaError
from faststream import AckPolicy
from faststream.kafka import KafkaBroker

from consumers.group_offsets import commit, lag_of
from consumers.patience import patiently
from consumers.positions import Positions
from consumers.raw_batches import raw_batch, undecoded
from consumers.sorting import Record
from infra.errors import Transient
from infra.kafka import header_names
from infra.observability import ConsumerMetrics

FIRST_POLL_MS = 10
IDLE_POLL_MS = 1000
WATCH_SECONDS = 5.0
ENDING_SECONDS = 5.0
MAX_POLL_MS = 3_600_000

Handler = Callable[[Sequence[Record]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a consumer reads: bootstrap servers, group, full topic names, batch limits."""

    bootstrap: str
    group: str
    topics: tuple[str, ...]
    instance: str | None = None
    max_records: int = 500
    stuck_after_seconds: float = 60.0
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500


@dataclass(slots=True)
class Subscription:
    """One consumer group member over one handler, from `run` until it is cancelled."""

    source: Source
    handler: Handler
    positions: Positions
    metrics: ConsumerMetrics
    backing_off: Callable[[], bool]
    flush: Callable[[], Awaitable[None]]
    ready: bool = field(default=False, init=False)
    last_progress: float = field(default_factory=monotonic, init=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _failure: asyncio.Future[None] | None = field(default=None, init=False)
    _broker: KafkaBroker | None = field(default=None, init=False)
    _subscriber: Any = field(default=None, init=False)
    _closing: bool = field(default=False, init=False)
    _placed: int = field(default=0, init=False)
    _fetched: int = field(default=0, init=False)

    async def run(self, stop: asyncio.Event) -> None:
        """Consume until *stop* is set; raise what must stop the service."""
        self._failure = asyncio.get_running_loop().create_future()
        await self._start()
        try:
            while not stop.is_set():
                await self._wait(stop)
                await self._watch()
        finally:
            self.ready = False
            await self._stop()

    async def _wait(self, stop: asyncio.Event) -> None:
        waiting: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
        failed: asyncio.Future[Any] = self._failed()
        try:
            await asyncio.wait(
                {waiting, failed},
                timeout=WATCH_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            waiting.cancel()
        if failed.done():
            failed.result()

    @property
    def _consumer(self) -> Any:
        return None if self._subscriber is None else self._subscriber.consumer

    def _failed(self) -> "asyncio.Future[None]":
        if self._failure is None:
            raise RuntimeError("the subscription is not running")
        return self._failure

    async def _start(self) -> None:
        header_names.read_any()
        broker = KafkaBroker(
            self.source.bootstrap.split(","),
            consumer_only=True,
            allow_auto_create_topics=False,
            apply_types=False,  # else the library matches types for every batch
            graceful_timeout=10,
            metadata_max_age_ms=5000,
            logger=None,
        )
        self._subscriber = self._subscribe(broker)
        self._subscriber(self._on_batch)
        await self._connect(broker)
        consumer: Any = self._subscriber.consumer
        consumer.getmany = self._never_empty(consumer.getmany)
        self._broker = broker
        self.last_progress = monotonic()
        self.ready = True

    def _subscribe(self, broker: KafkaBroker) -> Any:
        return broker.subscriber(
            *self.source.topics,
            group_id=self.source.group,
            group_instance_id=self.source.instance,
            auto_offset_reset="earliest",
            batch=True,
            max_records=self.source.max_records,
            batch_timeout_ms=FIRST_POLL_MS,
            fetch_min_bytes=self.source.fetch_min_bytes,
            fetch_max_wait_ms=self.source.fetch_max_wait_ms,
            max_poll_interval_ms=MAX_POLL_MS,
            rebalance_timeout_ms=30_000,
            ack_policy=AckPolicy.MANUAL,
            parser=raw_batch,
            decoder=undecoded,
            no_reply=True,
            listener=_Drain(self),
            title=f"{self.source.group}/{self.source.topics[0]}",
        )

    async def _connect(self, broker: KafkaBroker) -> None:
        """Start *broker*; a Kafka that is away is waited for."""

        async def start() -> None:
            try:
                await broker.start()
            except KafkaError:
                await broker.stop()
                raise

        await patiently(
            start, (KafkaError,), told=self.metrics.retried, given_up=lambda: False
        )

    async def _stop(self) -> None:
        self._closing = True
        try:
            async with asyncio.timeout(ENDING_SECONDS), self._lock:
                if self._broker is not None:
                    await self.flush()
                    await self._commit()
        except TimeoutError:
            # A batch that waits for the database is not waited for: it will be read again.
            self.metrics.retried("TimeoutError")
        if self._broker is not None:
            await self._broker.stop()
        self._broker = self._subscriber = None
        self._closing = False

    async def _on_batch(self, raw: list[Any]) -> None:
        async with self._lock:
            if self._closing or self._failed().done():
                return
            if self._fetched != self._placed:
                self._fetch_again(raw)
                return
            try:
                await self.handler(self.positions.checked(raw))
            except Exception as error:  # noqa: BLE001 - it ends the service, not the loop
                self.fail(error)
            self.last_progress = monotonic()

    def _fetch_again(self, records: Sequence[Record]) -> None:
        """Step back: the positions moved after this fetch began, or nobody saw it begin."""
        for place in {(record.topic, record.partition) for record in records}:
            offset = self.positions.next_fetch(place)
            if offset is not None:
                self._consumer.seek(TopicPartition(*place), offset)

    def _never_empty(self, getmany: Any) -> Any:
        async def patient(
            *partitions: Any, timeout_ms: int = 0, max_records: int | None = None
        ) -> Any:
            while True:
                placed = self._placed
                found = await getmany(
                    *partitions,
                    timeout_ms=max(timeout_ms, IDLE_POLL_MS),
                    max_records=max_records,
                )
                if found:
                    self._fetched = placed
                    return found

        return patient

    def fail(self, error: Exception) -> None:
        """Remember what must stop the service; nothing is handled after it."""
        structlog.get_logger().error(
            "consumer_stops", group=self.source.group, error=str(error)
        )
        if not self._failed().done():
            self._failed().set_exception(error)

    async def revoked(self) -> None:
        """Let the running batch finish before partitions move."""
        async with self._lock:
            await self.flush()
            await self._commit()
            self.positions.forget()

    async def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """Place the consumer where the store says; a log that cannot be ours stops us."""
        async with self._lock:
            try:
                await patiently(
                    lambda: self._place(list(partitions)),
                    (Transient, KafkaError),
                    told=self.metrics.retried,
                    given_up=lambda: self._closing,
                )
            except Exception as error:  # noqa: BLE001 - a listener's error would be swallowed
                self.fail(error)
            self._placed += 1

    async def _place(self, partitions: list[TopicPartition]) -> None:
        consumer = self._consumer
        starts = await consumer.beginning_offsets(partitions)
        ends = await consumer.end_offsets(partitions)
        places = {(p.topic, p.partition): (starts[p], ends[p]) for p in partitions}
        for place, offset in (await self.positions.take(places)).items():
            consumer.seek(TopicPartition(*place), offset)

    async def _commit(self) -> None:
        await commit(self._consumer, self.positions.handled, self.metrics.retried)

    async def _watch(self) -> None:
        lag = await lag_of(self._consumer, self.positions.handled)
        if lag is not None:
            self.metrics.lag(lag)
            await self._commit_between_batches()
        if lag == 0 or self.backing_off():
            self.last_progress = monotonic()
        self.ready = monotonic() - self.last_progress < self.source.stuck_after_seconds
        if not self.ready:
            structlog.get_logger().error("consumer_stuck", group=self.source.group, lag=lag)
            await self._stop()
            await self._start()

    async def _commit_between_batches(self) -> None:
        if not self._lock.locked():
            async with self._lock:
                await self.flush()
                await self._commit()


class _Drain(ConsumerRebalanceListener):  # type: ignore[misc]
    """Passes the client's rebalance callbacks on to the subscription."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    async def on_partitions_revoked(self, revoked: Any) -> None:
        await self._subscription.revoked()

    async def on_partitions_assigned(self, assigned: Any) -> None:
        await self._subscription.assigned(assigned)
