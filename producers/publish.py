"""Publishes messages that come from outside: the only sends that are not the relay's."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from event_schemas.codec import MAX_DATA_BYTES, encode
from event_schemas.envelope import Envelope
from event_schemas.registry import entry_of
from event_schemas.topics import full_name
from infra.errors import DependencyAway, WrongInput
from infra.kafka.clients import abandon, producer, start

SECONDS = 30.0
_KEY = ("tenant", "environment", "service")


@dataclass(frozen=True, slots=True)
class Published:
    """One event that Kafka acknowledged, and where it is."""

    id: str
    topic: str
    partition: int
    offset: int


async def publish(
    bootstrap: str, prefix: str, envelopes: Sequence[Envelope]
) -> list[Published]:
    """Send *envelopes* in their order and return once Kafka holds them all.

    The producer is idempotent, so its own retries double nothing; a caller who sends again
    sends the same ids, which intake takes once. Raises `DependencyAway` when Kafka does not
    acknowledge in time: some of the events may then be there.
    """
    for envelope in envelopes:
        if len(envelope.data) > MAX_DATA_BYTES:
            raise WrongInput("TOO_LARGE", f"{envelope.id}: {len(envelope.data)} bytes")
    client = producer(bootstrap, "caseops-producer")
    await start(client)
    try:
        async with asyncio.timeout(SECONDS):
            sent = [await _send(client, prefix, envelope) for envelope in envelopes]
            placed = [await each for each in sent]
    except MessageSizeTooLargeError as error:
        raise WrongInput("TOO_LARGE", "Kafka does not take a message this large") from error
    except (KafkaError, TimeoutError) as error:
        raise DependencyAway(
            "KAFKA_AWAY",
            f"Kafka did not acknowledge: {type(error).__name__}",
            "Check the topics and the broker (`caseops doctor`), then send again.",
        ) from error
    finally:
        await abandon(client)
    return [
        Published(envelope.id, place.topic, place.partition, place.offset)
        for envelope, place in zip(envelopes, placed, strict=True)
    ]


def key_of(envelope: Envelope) -> bytes:
    """Return the Kafka key: tenant, environment and service, as far as the data names them."""
    data = json.loads(envelope.data)
    named = data if isinstance(data, dict) else {}
    return "/".join(str(named.get(part) or "-") for part in _KEY).encode()


async def _send(
    client: Any,  # noqa: ANN401 - aiokafka has no types
    prefix: str,
    envelope: Envelope,
) -> "asyncio.Future[Any]":
    headers, value = encode(envelope)
    topic = full_name(prefix, entry_of(envelope.type).topics[0])
    future: asyncio.Future[Any] = await client.send(
        topic, value=value, key=key_of(envelope), headers=headers
    )
    return future
