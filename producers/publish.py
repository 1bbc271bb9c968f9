"""Publishes alerts that come from outside: the only sends that are not the relay's."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from event_schemas.codec import MAX_DATA_BYTES, encode
from event_schemas.envelope import Envelope
from event_schemas.topics import ALERTS, full_name
from infra.errors import DependencyAway, WrongInput
from infra.kafka.sending import ToSend, send

SECONDS = 60.0
_KEY = ("tenant", "environment", "service")


@dataclass(frozen=True, slots=True)
class Published:
    """One event that Kafka acknowledged, and where it is."""

    id: str
    topic: str
    partition: int
    offset: int


async def publish(
    bootstrap: str,
    prefix: str,
    envelopes: Sequence[Envelope],
    *,
    key: bytes | None = None,
) -> list[Published]:
    """Send *envelopes* to the alerts topic in their order, each acknowledged before the next.

    One *key* for all (default: each its own) keeps that order for whoever reads. The producer is idempotent, so its own retries double nothing; a caller who sends again
    sends the same ids, which intake takes once. Raises `DependencyAway` when Kafka does not
    acknowledge: some of the events may then be there.
    """
    records = [_record(envelope, prefix, key or key_of(envelope)) for envelope in envelopes]
    try:
        async with asyncio.timeout(SECONDS):
            places = await send(bootstrap, records)
    except TimeoutError as error:
        raise DependencyAway(
            "KAFKA_AWAY",
            f"Kafka did not acknowledge within {SECONDS:.0f} s",
            "Check the broker (`caseops doctor`), then send again: ids make that safe.",
        ) from error
    return [
        Published(envelope.id, place.topic, place.partition, place.offset)
        for envelope, place in zip(envelopes, places, strict=True)
    ]


def key_of(envelope: Envelope) -> bytes:
    """Return tenant, environment and service, as far as the data names them."""
    data = json.loads(envelope.data)
    named = data if isinstance(data, dict) else {}
    return "/".join(str(named.get(part) or "-") for part in _KEY).encode()


def _record(envelope: Envelope, prefix: str, key: bytes) -> ToSend:
    if len(envelope.data) > MAX_DATA_BYTES:
        raise WrongInput(
            "TOO_LARGE", f"event {envelope.id}: {len(envelope.data)} bytes of data"
        )
    headers, value = encode(envelope)
    return ToSend(full_name(prefix, ALERTS.name), key, headers, value)
