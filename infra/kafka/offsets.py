"""Where the partitions of topics begin and end."""

from collections.abc import Collection

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from infra.errors import DependencyAway
from infra.kafka import clients

Bounds = tuple[int, int]
"""First offset of a partition, and the offset after its last."""


async def bounds(bootstrap: str, topics: Collection[str]) -> dict[str, dict[int, Bounds]]:
    """Return topic -> partition -> bounds of those *topics* that exist."""
    client = clients.consumer(bootstrap=bootstrap, client_id="caseops-offsets")
    await clients.start(client)
    try:
        existing = await client.topics()
        wanted = [
            TopicPartition(topic, number)
            for topic in sorted(existing & set(topics))
            for number in sorted(client.partitions_for_topic(topic) or ())
        ]
        if not wanted:
            return {}
        begins = await client.beginning_offsets(wanted)
        ends = await client.end_offsets(wanted)
    except KafkaError as error:
        raise DependencyAway(
            "KAFKA_AWAY", f"Kafka does not say its offsets: {type(error).__name__}"
        ) from error
    finally:
        await clients.abandon(client)
    found: dict[str, dict[int, Bounds]] = {}
    for place in wanted:
        found.setdefault(place.topic, {})[place.partition] = (begins[place], ends[place])
    return found
