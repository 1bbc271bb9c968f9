"""Put a few records on a topic and know where they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from aiokafka.errors import KafkaError

from infra.errors import DependencyAway
from infra.kafka import clients


@dataclass(frozen=True, slots=True)
class ToSend:
    """One record to put on *topic* (full name)."""

    topic: str
    key: bytes | None
    headers: Sequence[tuple[str, bytes]]
    value: bytes


@dataclass(frozen=True, slots=True)
class Sent:
    """Where an acknowledged record is."""

    topic: str
    partition: int
    offset: int


async def send(bootstrap: str, records: Sequence[ToSend]) -> list[Sent]:
    """Send *records* in order and return once all are acknowledged; raise `DependencyAway`."""
    client = clients.producer(bootstrap, "caseops-send")
    await clients.start(client)
    sent = []
    try:
        for each in records:
            at = await client.send_and_wait(
                each.topic, each.value, key=each.key, headers=list(each.headers)
            )
            sent.append(Sent(at.topic, at.partition, at.offset))
    except KafkaError as error:
        raise DependencyAway(
            "KAFKA_REFUSED",
            f"{len(sent)} of {len(records)} records were sent: {type(error).__name__}",
            "Start the stack (`caseops up`) and send the rest again: ids make that safe.",
        ) from error
    finally:
        await clients.abandon(client, grace=5.0)
    return sent
