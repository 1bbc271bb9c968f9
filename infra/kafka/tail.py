"""Follow a topic as any subscriber would: with a consumer group, or from where one says."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import KafkaError

from infra.errors import DependencyAway
from infra.kafka import clients
from infra.kafka.offsets import partitions

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class Tailing:
    """What to follow; a group goes on where it stands, a new one begins at the end.

    *from_beginning* lets a new group, and whoever has no group, begin at the first record;
    *limit* ends it after so many records (0: never).
    """

    bootstrap: str
    topic: str
    group: str | None = None
    from_beginning: bool = False
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Tailed:
    """One record of the topic."""

    partition: int
    offset: int
    key: bytes | None
    headers: Headers
    value: bytes | None


async def tail(tailing: Tailing) -> AsyncGenerator[Tailed, None]:
    """Yield records as they come; one that was taken is committed before the next is.

    At least once: a record that was yielded and not followed by another comes again.
    """
    client = clients.consumer(
        bootstrap=tailing.bootstrap, client_id="caseops-tail", group=tailing.group
    )
    await clients.start(client)
    try:
        await _place(client, tailing)
        taken = 0
        async for record in client:
            yield Tailed(
                record.partition, record.offset, record.key, record.headers, record.value
            )
            if tailing.group is not None:
                place = TopicPartition(record.topic, record.partition)
                await client.commit({place: record.offset + 1})
            taken += 1
            if taken == tailing.limit:
                return
    except KafkaError as error:
        raise DependencyAway(
            "KAFKA_AWAY", f"Kafka does not answer: {type(error).__name__}"
        ) from error
    finally:
        await clients.abandon(client, grace=5.0)


async def _place(client: AIOKafkaConsumer, tailing: Tailing) -> None:
    if tailing.group is not None:
        client.subscribe([tailing.topic], listener=_AtTheEnd(client, tailing))
        return
    places = await partitions(tailing.bootstrap, [tailing.topic])
    if not places:
        raise DependencyAway(
            "TOPIC_MISSING", f"no topic {tailing.topic}", "Start the stack: `caseops up`."
        )
    client.assign(places)
    if tailing.from_beginning:
        await client.seek_to_beginning(*places)
    else:
        await client.seek_to_end(*places)


class _AtTheEnd(ConsumerRebalanceListener):  # type: ignore[misc]
    """Places partitions on which the group has committed nothing yet."""

    def __init__(self, client: AIOKafkaConsumer, tailing: Tailing) -> None:
        self._client = client
        self._tailing = tailing

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Nothing is in hand between two records."""

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        for place in assigned:
            fresh = await self._client.committed(place) is None
            if fresh and not self._tailing.from_beginning:
                await self._client.seek_to_end(place)
