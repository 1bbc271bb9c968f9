"""Alertmanager webhook bodies, and the events that they become."""

from typing import Any

from event_schemas.alerts import AlertRaised
from event_schemas.codec import decode, encode
from event_schemas.envelope import Envelope
from event_schemas.registry import read
from producers.alert_formats import alertmanager

NO_END = "0001-01-01T00:00:00Z"


def an_entry(**changes: Any) -> dict[str, Any]:
    """Return one alert as Alertmanager sends it."""
    return {
        "status": "firing",
        "labels": {
            "alertname": "EdgeLatencyHigh",
            "service": "checkout",
            "severity": "critical",
        },
        "annotations": {"summary": "slow", "value": "3.8", "baseline": "0.42"},
        "startsAt": "2026-07-23T02:02:00.000Z",
        "endsAt": NO_END,
        "generatorURL": "http://prometheus.example/graph",
        "fingerprint": "7b7e11ad3691e880",
        **changes,
    }


def a_body(*entries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a webhook body around *entries*."""
    group = {"version": "4", "status": "firing", "groupKey": "{}:{}", "truncatedAlerts": 0}
    return {**group, "alerts": list(entries or [an_entry()]), **changes}


def mapped(body: Any) -> list[Envelope]:
    """Return the events of *body* for a tenant of ours."""
    return alertmanager(body, tenant="acme", environment="production")


def data_of(envelope: Envelope) -> AlertRaised:
    """Return the payload of *envelope* as a reader of the topic sees it."""
    headers, value = encode(envelope)
    payload = read(decode(headers, value))
    assert isinstance(payload, AlertRaised)
    return payload
