"""Outside messages and run endings to intake's commands. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from consumers.decider import Intent, Message
from event_schemas.alerts import AlertRaised, MessageRef
from event_schemas.envelope import Envelope
from event_schemas.ids import derived_id
from event_schemas.payload import Instant, Json, Payload, Text
from event_schemas.registry import names, read
from event_schemas.runs import RunCompleted
from event_schemas.strict_json import Malformed, parse_json

READS = names(AlertRaised, RunCompleted)
LONGEST_NAME = 200
_SERVICE_LABELS = ("service", "app", "job", "deployment")
_MUST_SAY = (
    ("tenant", "MISSING_TENANT"),
    ("environment", "MISSING_ENVIRONMENT"),
    ("source", "MISSING_SOURCE"),
)


class Unplaced(Payload):
    """An alert that says too little to belong anywhere: refused, with what it held."""

    reason: Text
    detail: Text
    data: Json


@dataclass(frozen=True, slots=True)
class ReceiveAlert:
    """Take this alert in."""

    message: MessageRef
    alert: AlertRaised
    sent_at: Instant | None


@dataclass(frozen=True, slots=True)
class RefuseMessage:
    """Refuse this message."""

    message: MessageRef
    unplaced: Unplaced


@dataclass(frozen=True, slots=True)
class CloseCase:
    """The run of this case ended."""

    case_id: str
    run_id: str
    run_status: str


def parser(allowed: Sequence[str], *, local_mode: bool) -> Callable[[Envelope], Payload]:
    """Return how intake parses data: tenants outside *allowed* are parked.

    An empty *allowed* means every tenant in local mode, and none elsewhere.
    """

    def parse(envelope: Envelope) -> Payload:
        if envelope.type not in names(AlertRaised):
            return read(envelope)
        data = parse_json(envelope.data)
        if not isinstance(data, dict):
            raise Malformed("SCHEMA_INVALID", "the data of an alert is a JSON object")
        if not local_mode:
            data.pop("case_folder", None)
        _check_names(envelope)
        known = bool((envelope.tenantid or "").strip())
        if known and (allowed or not local_mode) and envelope.tenantid not in allowed:
            raise Malformed(
                "TENANT_NOT_ALLOWED", "this installation does not serve the tenant"
            )
        lacking = _lacking(envelope, data)
        if lacking is not None:
            return lacking
        if data["tenant"] != envelope.tenantid:
            raise Malformed("TENANT_MISMATCH", "tenantid and data.tenant differ")
        return _alert(envelope, local_mode=local_mode)

    return parse


def _check_names(envelope: Envelope) -> None:
    """Refuse what is too long to name a message by."""
    for name in ("id", "source", "tenantid"):
        if len(getattr(envelope, name) or "") > LONGEST_NAME:
            detail = f"{name} is longer than {LONGEST_NAME} characters"
            raise Malformed("BAD_HEADER", detail)


def _alert(envelope: Envelope, *, local_mode: bool) -> Payload:
    alert = read(envelope)
    if not isinstance(alert, AlertRaised):
        return alert
    if len(service_of(alert)) > LONGEST_NAME:
        detail = f"the service is longer than {LONGEST_NAME} characters"
        raise Malformed("SCHEMA_INVALID", detail)
    if not local_mode and alert.case_folder:
        return alert.model_copy(update={"case_folder": None})
    return alert


def service_of(alert: AlertRaised) -> str:
    """Return the service an alert speaks of, empty when it names none."""
    labels = [alert.labels[name] for name in _SERVICE_LABELS if alert.labels.get(name)]
    return alert.service or next(iter(labels), "")


def _lacking(envelope: Envelope, data: dict[str, Any]) -> Unplaced | None:
    if not (envelope.tenantid or "").strip():
        return Unplaced(reason="MISSING_TENANT", detail="attribute tenantid", data=data)
    for field, reason in _MUST_SAY:
        value = data.get(field)
        if value is None or (isinstance(value, str) and not value.strip()):
            return Unplaced(reason=reason, detail=f"data.{field}", data=data)
    return None


def react(message: Message) -> Sequence[Intent]:
    """Return what intake has to do about *message*."""
    envelope, payload = message.envelope, message.payload
    if isinstance(payload, RunCompleted):
        command = CloseCase(payload.case_id, payload.run_id, payload.status)
        key = envelope.partitionkey or payload.run_id
        stream = f"case/{payload.case_id}"
        return [Intent(command, stream, key, payload.tenant, payload.run_id)]
    ref = MessageRef(
        source=envelope.source,
        id=envelope.id,
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        digest=message.digest.hex(),
    )
    tenant = envelope.tenantid or "-"
    if isinstance(payload, Unplaced):
        name = derived_id("refused", tenant, envelope.source, envelope.id)
        refuse = RefuseMessage(ref, payload)
        return [
            Intent(refuse, f"request/{tenant}/{name}", f"{tenant}/{name}", tenant, None)
        ]
    if isinstance(payload, AlertRaised):
        return [Intent(ReceiveAlert(ref, payload, envelope.time), "", "", tenant, None)]
    return []
