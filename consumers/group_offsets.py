"""Kafka's own offsets of a group: committed for lag tools only, and read to tell the lag."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from infra.inbox import Partition

CALL_SECONDS = 5.0


async def commit(
    consumer: Any,  # noqa: ANN401 - aiokafka has no types
    handled: Mapping[Partition, int],
    told: Callable[[str], None],
) -> None:
    """Commit *handled*; a failure is told and changes nothing, the store knows better.

    The client would wait for a broker that is away, and keep a stop waiting.
    """
    offsets = {TopicPartition(*place): at for place, at in handled.items()}
    if consumer is None or not offsets:
        return
    try:
        async with asyncio.timeout(CALL_SECONDS):
            await consumer.commit(offsets)
    except (CommitFailedError, IllegalStateError, KafkaError, TimeoutError) as error:
        told(type(error).__name__)


async def lag_of(
    consumer: Any,  # noqa: ANN401 - aiokafka has no types
    handled: Mapping[Partition, int],
) -> int:
    """Return how many records lie beyond *handled*; 1 when the broker does not tell."""
    places = dict(handled)
    if consumer is None or not places:
        return 0
    try:
        async with asyncio.timeout(CALL_SECONDS):
            ends = await consumer.end_offsets([TopicPartition(*place) for place in places])
    except (KafkaError, TimeoutError):
        return 1
    return sum(max(0, ends[TopicPartition(*place)] - at) for place, at in places.items())
