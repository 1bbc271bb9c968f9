"""Raw Kafka records for tests that hand them to a consumer without a broker."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from event_schemas.codec import encode
from event_schemas.envelope import Envelope

ALERT = "dev.caseops.alert.raised.v1"


@dataclass
class RawRecord:
    """What the client gives for one record."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = field(default_factory=list)


def alert_data(number: int = 1, **changes: Any) -> dict[str, Any]:
    """Return the data of an S1 alert; *number* makes id and fingerprint its own."""
    data = {
        "alert_id": f"alert-{number}",
        "fingerprint": f"fp-{number}",
        "tenant": "prod-cn",
        "environment": "production",
        "source": "prometheus",
        "signal_kind": "latency_p95",
        "severity": "critical",
        "service": "payment-api",
        "starts_at": "2026-07-23T02:02:00Z",
    }
    return {**data, **changes}


def alert_headers(
    identity: str, tenant: str | None = "prod-cn"
) -> list[tuple[str, bytes | None]]:
    """Return binary-mode headers of an alert."""
    headers: list[tuple[str, bytes | None]] = [
        ("ce_specversion", b"1.0"),
        ("ce_id", identity.encode()),
        ("ce_source", b"/tests"),
        ("ce_type", ALERT.encode()),
        ("content-type", b"application/json"),
    ]
    if tenant is not None:
        headers.append(("ce_tenantid", tenant.encode()))
    return headers


def alert_record(
    offset: int, number: int | None = None, *, identity: str | None = None, **changes: Any
) -> RawRecord:
    """Return an alert as a record of `caseops.alerts`, partition 0."""
    number = offset if number is None else number
    data = alert_data(number, **changes)
    headers = alert_headers(identity or f"event-{number}")
    return RawRecord(
        "caseops.alerts", 0, offset, b"key", json.dumps(data).encode(), headers
    )


def event_record(
    offset: int, envelope: Envelope, topic: str = "caseops.events"
) -> RawRecord:
    """Return *envelope* as the relay would publish it."""
    headers, value = encode(envelope)
    key = (envelope.partitionkey or "").encode()
    return RawRecord(topic, 0, offset, key, value, headers)
