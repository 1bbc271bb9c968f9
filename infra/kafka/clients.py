"""Builders of Kafka clients: every default that matters is stated here, once."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

from infra.errors import DependencyAway

REQUEST_TIMEOUT_MS = 10_000
METADATA_MAX_AGE_MS = 60_000
# Below the 1 MiB a topic takes; a larger single record still travels as a batch of its own,
# and only the broker judges it: its refusal names the topic's real limit.
MAX_BATCH_BYTES = 512 * 1024
MAX_REQUEST_BYTES = 8 * 1024 * 1024
NO_SECURITY: Mapping[str, Any] = MappingProxyType({})

_log = structlog.get_logger()


def producer(
    bootstrap: str, client_id: str, security: Mapping[str, Any] = NO_SECURITY
) -> AIOKafkaProducer:
    """Return a producer, not started: idempotent, `acks=all`, no linger, no compression.

    It retries what a broker may yet accept, in order and without end; a refusal leaves it
    out of sequence, so whoever sees a send fail builds a new one.
    """
    return AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        client_id=client_id,
        acks="all",
        enable_idempotence=True,
        linger_ms=0,
        compression_type=None,
        max_batch_size=MAX_BATCH_BYTES,
        max_request_size=MAX_REQUEST_BYTES,
        request_timeout_ms=REQUEST_TIMEOUT_MS,
        retry_backoff_ms=100,
        metadata_max_age_ms=METADATA_MAX_AGE_MS,
        **security,
    )


def consumer(
    *topics: str,
    bootstrap: str,
    client_id: str,
    group: str | None = None,
    security: Mapping[str, Any] = NO_SECURITY,
) -> AIOKafkaConsumer:
    """Return a consumer, not started: from the earliest record, nothing committed for it."""
    return AIOKafkaConsumer(
        *topics,
        bootstrap_servers=bootstrap,
        client_id=client_id,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
        fetch_min_bytes=1,
        fetch_max_wait_ms=500,
        max_partition_fetch_bytes=4 * 1024 * 1024,
        request_timeout_ms=REQUEST_TIMEOUT_MS,
        retry_backoff_ms=100,
        metadata_max_age_ms=2_000,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=30_000,
        max_poll_interval_ms=300_000,
        **security,
    )


async def start(client: AIOKafkaProducer | AIOKafkaConsumer) -> None:
    """Start *client*, or close it and raise `DependencyAway`."""
    try:
        async with asyncio.timeout(2 * REQUEST_TIMEOUT_MS / 1000):
            await client.start()
    except (KafkaError, TimeoutError) as error:
        await abandon(client)
        raise DependencyAway(
            "KAFKA_AWAY",
            f"Kafka does not answer: {type(error).__name__}",
            "Start it (`caseops up`) or check CASEOPS_KAFKA_BOOTSTRAP.",
        ) from error


async def abandon(client: AIOKafkaProducer | AIOKafkaConsumer, grace: float = 0.5) -> None:
    """Stop *client*, without waiting longer than *grace* for records that cannot be sent."""
    try:
        async with asyncio.timeout(grace):
            await client.stop()
    except (KafkaError, TimeoutError) as error:
        # A producer's stop() waits for the broker's return: cut its sender and connections.
        _log.warning("kafka_client_abandoned", error=type(error).__name__)
        sender = getattr(getattr(client, "_sender", None), "sender_task", None)
        if sender is not None:
            sender.cancel()
        # Public for producers (`client.client`), private for consumers.
        inner = getattr(client, "client", None) or getattr(client, "_client", None)
        if inner is not None:
            await inner.close()
