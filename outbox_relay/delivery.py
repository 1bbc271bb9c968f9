"""Rows to Kafka: one batch per partition and round, every acknowledgement awaited.

One batch per partition, because a refused batch must not be followed by a later one of the
same partition: a broker that has not seen this producer yet would take it, out of order.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from aiokafka.errors import KafkaError, TopicAuthorizationFailedError
from aiokafka.errors import UnknownTopicOrPartitionError as UnknownTopic
from aiokafka.partitioner import murmur2

from infra.errors import Transient
from infra.kafka.clients import abandon, producer, start
from infra.outbox import OutboxRow
from outbox_relay import metrics
from outbox_relay.refusals import Unsendable

LOOKUP_SECONDS = 0.5
LOOKUPS = 20
Partition = tuple[str, int]


@dataclass(slots=True)
class Outcome:
    """What became of a round; *unsent* rows did not fit into their partition's batch."""

    acknowledged: list[OutboxRow] = field(default_factory=list)
    unsent: list[OutboxRow] = field(default_factory=list)
    failed: list[tuple[OutboxRow, BaseException]] = field(default_factory=list)


class Delivery:
    """The producer of one relay, and what it knows about topics."""

    def __init__(self, bootstrap: str, on_lookup: Callable[[], None]) -> None:
        self._bootstrap = bootstrap
        self._on_lookup = on_lookup
        self._producer: Any = None
        self._lookups: dict[str, asyncio.Task[int]] = {}

    async def open(self, log_topic: str) -> int:
        """Start a new producer in place of any old one; return the log's partitions.

        Nothing flows without the log: raises `Transient` while its topic is not there.
        """
        await self.close()
        self._producer = producer(self._bootstrap, "caseops-relay")
        await start(self._producer)
        try:
            return await self._lookup(log_topic)
        except (UnknownTopic, TopicAuthorizationFailedError) as error:
            raise Transient(f"{type(error).__name__}: {log_topic}") from error

    async def close(self) -> None:
        """Give the producer up, with whatever it could not send."""
        for task in self._lookups.values():
            task.cancel()
        await asyncio.gather(*self._lookups.values(), return_exceptions=True)
        self._lookups.clear()
        if self._producer is not None:
            await abandon(self._producer)
            self._producer = None

    def partitions(self, topic: str) -> int | None:
        """Return how many partitions *topic* has; None while that is being asked.

        Raises `UnknownTopic` or `TopicAuthorizationFailedError` once, when the broker says so.
        """
        known = self._producer.client.cluster.partitions_for_topic(topic)
        if known:
            return len(known)
        task = self._lookups.get(topic)
        if task is None:
            task = self._lookups[topic] = asyncio.create_task(self._lookup(topic))
            task.add_done_callback(self._looked_up)
        if not task.done():
            return None
        del self._lookups[topic]
        return task.result()

    def asking(self) -> set[str]:
        """Return the topics whose partitions are being asked for."""
        return {topic for topic, task in self._lookups.items() if not task.done()}

    async def send(self, rows: Sequence[OutboxRow]) -> Outcome:
        """Send *rows*, at most one batch per partition, and await every acknowledgement.

        Blocks for as long as the broker is away: the producer keeps order, and gives up on
        nothing that a broker may yet take.
        """
        outcome = Outcome()
        with metrics.SEND_SECONDS.time():
            sending = [
                await self._hand_over(partition, waiting, outcome)
                for partition, waiting in self._by_partition(rows, outcome).items()
            ]
            for batch, future in sending:
                try:
                    await future
                except (KafkaError, AssertionError) as error:
                    outcome.failed.extend((row, error) for row in batch)
                else:
                    outcome.acknowledged.extend(batch)
        return outcome

    def _by_partition(
        self, rows: Sequence[OutboxRow], outcome: Outcome
    ) -> dict[Partition, list[OutboxRow]]:
        cluster = self._producer.client.cluster
        counts = {
            topic: len(cluster.partitions_for_topic(topic) or ())
            for topic in {row.topic for row in rows}
        }
        grouped: dict[Partition, list[OutboxRow]] = {}
        for row in rows:
            count = counts[row.topic]
            if not count:
                outcome.unsent.append(row)
                continue
            # Without a key of its own a record still keeps the order of its order key.
            key = row.order_key if row.key is None else row.key
            grouped.setdefault((row.topic, key_hash(key) % count), []).append(row)
        return grouped

    async def _hand_over(
        self, partition: Partition, rows: list[OutboxRow], outcome: Outcome
    ) -> tuple[list[OutboxRow], asyncio.Future[Any]]:
        builder = self._producer.create_batch()
        taken = broken = 0
        for row in rows:
            try:
                if not _append(builder, row):
                    break
            except Unsendable as error:
                outcome.failed.append((row, error))
                broken = 1
                break
            taken += 1
        outcome.unsent.extend(rows[taken + broken :])
        topic, number = partition
        try:
            future = await self._producer.send_batch(builder, topic, partition=number)
        except (KafkaError, AssertionError) as error:
            future = asyncio.get_running_loop().create_future()
            future.set_exception(error)
        return rows[:taken], future

    async def _lookup(self, topic: str) -> int:
        client = self._producer.client
        client.add_topic(topic)
        answers = 0
        while answers < LOOKUPS:
            # Only an answer of the broker counts: while it is away, nothing is unknown.
            if await client.force_metadata_update():
                known = client.cluster.partitions_for_topic(topic)
                if known:
                    return len(known)
                if topic in client.cluster.unauthorized_topics:
                    raise TopicAuthorizationFailedError(topic)
                answers += 1
            await asyncio.sleep(LOOKUP_SECONDS)
        raise UnknownTopic(topic)

    def _looked_up(self, task: asyncio.Task[int]) -> None:
        if not task.cancelled():
            task.exception()
            self._on_lookup()


@lru_cache(maxsize=65_536)
def key_hash(key: bytes) -> int:
    """Return the hash by which every Kafka client chooses the partition of *key*."""
    return int(murmur2(key)) & 0x7FFFFFFF


def _append(builder: Any, row: OutboxRow) -> bool:  # noqa: ANN401 - aiokafka has no types
    # Read before the builder writes anything: half a record would spoil the whole batch.
    try:
        headers = row.headers()
    except (ValueError, TypeError) as error:
        raise Unsendable(f"headers: {error}") from error
    metadata = builder.append(timestamp=None, key=row.key, value=row.value, headers=headers)
    return metadata is not None
