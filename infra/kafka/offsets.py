"""Where the partitions of topics begin and end."""

from collections.abc import Collection

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from infra.kafka import clients
from infra.kafka.topics import kafka_away

Bounds = tuple[int, int]
"""First offset of a partition, and the offset after its last."""


async def partitions(bootstrap: str, topics: Collection[str]) -> list[TopicPartition]:
    """Return the partitions of those *topics* that exist, in order."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=10_000)
    try:
        await admin.start()
        existing = set(await admin.list_topics()) & set(topics)
        described = await admin.describe_topics(sorted(existing)) if existing else []
    except KafkaError as error:
        raise kafka_away(bootstrap) from error
    finally:
        await admin.close()
    return sorted(
        TopicPartition(topic["topic"], each["partition"])
        for topic in described
        for each in topic["partitions"]
    )


async def bounds(bootstrap: str, topics: Collection[str]) -> dict[str, dict[int, Bounds]]:
    """Return topic -> partition -> bounds of those *topics* that exist."""
    wanted = await partitions(bootstrap, topics)
    if not wanted:
        return {}
    client = clients.consumer(bootstrap=bootstrap, client_id="caseops-offsets")
    await clients.start(client)
    try:
        begins = await client.beginning_offsets(wanted)
        ends = await client.end_offsets(wanted)
    except KafkaError as error:
        raise kafka_away(bootstrap) from error
    finally:
        await clients.abandon(client)
    found: dict[str, dict[int, Bounds]] = {}
    for place in wanted:
        found.setdefault(place.topic, {})[place.partition] = (begins[place], ends[place])
    return found
