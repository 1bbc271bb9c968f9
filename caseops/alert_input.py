"""Alerts as people and tools hold them: CloudEvents, lists, JSON lines, Alertmanager bodies. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from producers.alert_formats import alertmanager

from event_schemas.alerts import AlertRaised
from event_schemas.codec import decode, encode
from event_schemas.envelope import Envelope
from event_schemas.registry import names, read
from event_schemas.strict_json import Malformed
from event_schemas.topics import ALERTS, full_name
from infra.errors import WrongInput
from infra.kafka.sending import ToSend

STRUCTURED = [("content-type", b"application/cloudevents+json")]
HINT = "One CloudEvent (structured JSON), an array, JSON lines, or an Alertmanager body."


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a foreign alert does not say: whose it is, and of which environment."""

    tenant: str = "default"
    environment: str = "production"


def alerts_in(text: str, defaults: Defaults) -> list[Envelope]:
    """Return the alerts in *text*, each one checked; raise `WrongInput` for the first bad one."""
    found = [
        envelope
        for number, document in enumerate(_documents(text), 1)
        for envelope in _alerts(document, number, defaults)
    ]
    if not found:
        raise WrongInput("EMPTY_INPUT", "there is no alert in the input", HINT)
    return found


def record(envelope: Envelope, prefix: str) -> ToSend:
    """Return *envelope* as a record of the alerts topic, keyed by what it is about."""
    data = json.loads(envelope.data)
    parts = (envelope.tenantid, data.get("environment"), data.get("service"))
    headers, value = encode(envelope)
    key = "/".join(str(part or "-") for part in parts).encode()
    return ToSend(full_name(prefix, ALERTS.name), key, headers, value)


def _documents(text: str) -> Iterator[Any]:
    try:
        whole = json.loads(text)
    except ValueError:
        yield from _lines(text)
        return
    yield from whole if isinstance(whole, list) else [whole]


def _lines(text: str) -> Iterator[Any]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise WrongInput("NOT_JSON", f"line {number}: {error}", HINT) from error


def _alerts(document: Any, number: int, defaults: Defaults) -> list[Envelope]:  # noqa: ANN401
    if (
        isinstance(document, dict)
        and "specversion" not in document
        and "alerts" in document
    ):
        return list(alertmanager(document, defaults.tenant, defaults.environment))
    try:
        envelope = decode(STRUCTURED, json.dumps(document).encode())
        if envelope.type not in names(AlertRaised):
            raise Malformed("SCHEMA_UNKNOWN", f"{envelope.type[:120]} is not an alert")
        read(envelope)
    except Malformed as error:
        raise WrongInput(error.code, f"alert {number}: {error.detail}", HINT) from error
    return [envelope]
