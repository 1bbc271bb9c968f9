"""Publish one alert with nothing but a Kafka client: `publish_alert.py BOOTSTRAP [ID]`."""

import asyncio
import json
import sys

from aiokafka import AIOKafkaProducer

ALERT = {
    "alert_id": "alert-1", "fingerprint": "checkout-latency", "tenant": "acme",
    "environment": "production", "source": "my-monitoring", "severity": "critical",
    "signal_kind": "latency_p95", "service": "checkout", "starts_at": "2026-07-23T02:02:00Z",
}  # fmt: skip


async def main(bootstrap: str, identity: str = "my-alert-1") -> None:
    """Send the alert as a CloudEvent in binary mode; the same id again changes nothing."""
    attributes = {
        "specversion": "1.0", "id": identity, "source": "/my-monitoring",
        "type": "dev.caseops.alert.raised.v1", "tenantid": ALERT["tenant"],
    }  # fmt: skip
    headers = [(f"ce_{name}", value.encode()) for name, value in attributes.items()]
    headers.append(("content-type", b"application/json"))
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        await producer.send_and_wait(
            "caseops.alerts", json.dumps(ALERT).encode(), headers=headers
        )


asyncio.run(main(*sys.argv[1:]))
