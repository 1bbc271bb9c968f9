"""Foreign alert formats to `alert.raised`, and whatever a person feeds in to envelopes. Pure.

An event's id is derived from what it says: a byte-identical repeat is the same event, a repeat
with fresh figures is the same signal again, and a resolved alert is another event.
"""

import json
import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from event_schemas.alerts import AlertRaised
from event_schemas.codec import parse_time
from event_schemas.envelope import Envelope
from event_schemas.ids import derived_id
from event_schemas.payload import canonical
from event_schemas.registry import BY_PAYLOAD
from infra.errors import WrongInput

RAISED = BY_PAYLOAD[AlertRaised]
VERSION = "4"
NO_NAME, NO_SEVERITY, HEARTBEAT = "unnamed_alert", "unknown", "none"
NO_TIME = 1
# The first of these labels that an alert carries names its service (`job` is often the
# exporter that watches it, so it comes last), or its environment.
SERVICE_LABELS = (
    "service",
    "service_name",
    "app",
    "app_kubernetes_io_name",
    "deployment",
    "statefulset",
    "daemonset",
    "job_name",
    "job",
)
ENVIRONMENT_LABELS = ("environment", "env", "stage", "cluster")
OBSERVED = ("observed", "value", "current_value")
_SHOWN = 80

Document = Mapping[str, Any]


def alertmanager(
    body: Any,  # noqa: ANN401 - any JSON
    *,
    tenant: str,
    environment: str | None = None,
    source: str = "alertmanager",
) -> list[Envelope]:
    """Return one event per alert of an Alertmanager webhook *body* (version 4).

    Heartbeats (severity `none`) are no signals and give none. Without *environment* a label
    names it. Raises `WrongInput` that says which alert is wrong, and then nothing is mapped.
    """
    alerts = alerts_of_body(body, tenant=tenant, environment=environment, source=source)
    return [event_of(alert) for alert in alerts]


def alerts_of_body(
    body: Any,  # noqa: ANN401 - any JSON
    *,
    tenant: str,
    environment: str | None = None,
    source: str = "alertmanager",
) -> list[AlertRaised]:
    """Return what `alertmanager` puts into its events."""
    entries = _entries(body)
    fixed = {"tenant": tenant, "environment": environment, "source": source}
    notes = _truncation(body)
    found = []
    for number, entry in enumerate(entries):
        where = f"alerts[{number}]"
        labels = _texts(entry, "labels", where)
        if labels.get("severity", "").lower() == HEARTBEAT:
            continue
        annotations = {**_texts(entry, "annotations", where), **notes}
        default = body.get("status")
        data = _mapped({"status": default, **entry}, labels, annotations, where)
        found.append(_checked({**data, **_placed(fixed, labels, where)}, where))
    return found


def event_of(alert: AlertRaised) -> Envelope:
    """Return *alert* as the CloudEvent that a producer sends."""
    data = alert.model_dump_json().encode()
    return Envelope(
        id=derived_id("alert", alert.tenant, alert.source, sha256(data).hexdigest()),
        source=f"/monitoring/{quote(alert.source)}",
        type=RAISED.name,
        time=alert.starts_at,
        data=data,
        subject=quote(alert.service) if alert.service else None,
        dataschema=RAISED.dataschema,
        tenantid=alert.tenant,
    )


def is_alertmanager(document: Document) -> bool:
    """Say whether *document* looks like an Alertmanager webhook body, right or wrong."""
    return "alerts" in document or {"version", "groupKey"} <= document.keys()


def _entries(body: Any) -> list[Document]:  # noqa: ANN401 - any JSON
    if not isinstance(body, Mapping):
        raise _wrong("the body of an Alertmanager webhook is a JSON object")
    version = body.get("version", VERSION)
    if version != VERSION:
        raise WrongInput(
            "UNKNOWN_FORMAT",
            f"webhook version {str(version)[:_SHOWN]}, known is {VERSION}",
            "Send Alertmanager's own webhook, or a CloudEvent.",
        )
    entries = body.get("alerts")
    if not isinstance(entries, list):
        raise _wrong("alerts: missing, or not a list")
    for number, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            raise _wrong(f"alerts[{number}]: not a JSON object")
    return entries


def _truncation(body: Document) -> dict[str, str]:
    cut = body.get("truncatedAlerts")
    return {"truncated_alerts": str(cut)} if isinstance(cut, int) and cut > 0 else {}


def _texts(entry: Document, field: str, where: str) -> dict[str, str]:
    """Return labels or annotations as texts: null is absent, numbers as JSON writes them."""
    found = entry.get(field)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise _wrong(f"{where}.{field}: not a JSON object")
    if any(isinstance(value, Mapping | list) for value in found.values()):
        raise _wrong(f"{where}.{field}: a value is not text")
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in found.items()
        if value is not None
    }


def _mapped(
    entry: Document, labels: dict[str, str], annotations: dict[str, str], where: str
) -> dict[str, Any]:
    name = labels.get("alertname") or NO_NAME
    fingerprint = entry.get("fingerprint") or _fingerprint(labels)
    ended = _instant(entry, "endsAt", where)
    status = entry.get("status") or "firing"
    return {
        "alert_id": f"{name[:100]}-{fingerprint}",
        "fingerprint": fingerprint,
        "signal_kind": name,
        "severity": labels.get("severity") or NO_SEVERITY,
        "status": status,
        "starts_at": _instant(entry, "startsAt", where),
        # A firing alert's end is only when Alertmanager would give it up.
        "window_end": ended if status == "resolved" else None,
        "service": _first(labels, SERVICE_LABELS),
        "metric": annotations.get("metric"),
        "baseline": _figure(annotations.get("baseline")),
        "observed": _figure(_first(annotations, OBSERVED)),
        "labels": labels,
        "annotations": annotations,
        "raw_ref": entry.get("generatorURL") or None,
    }


def _fingerprint(labels: Document) -> str:
    """Return what stands in for a missing fingerprint: like the real one, a hash of labels."""
    return sha256(canonical(dict(labels))).hexdigest()[:16]


def _first(texts: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((texts[name] for name in names if texts.get(name)), None)


def _figure(text: str | None) -> float | str | None:
    try:
        value = float(text or "")
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _instant(entry: Document, field: str, where: str) -> datetime | None:
    """Return a time of *entry*; Go's zero time means that there is none."""
    text = entry.get(field)
    if text in (None, ""):
        return None
    try:
        at = parse_time(str(text))
    except ValueError as error:
        raise _wrong(f"{where}.{field}: {error}") from error
    return None if at.year == NO_TIME else at


def _placed(
    fixed: Mapping[str, str | None], labels: Mapping[str, str], where: str
) -> dict[str, str | None]:
    environment = fixed["environment"] or _first(labels, ENVIRONMENT_LABELS)
    if environment is None:
        raise WrongInput(
            "MISSING_ENVIRONMENT",
            f"{where}: no environment given and none in the labels",
            f"Give one, or label the alert ({', '.join(ENVIRONMENT_LABELS)}).",
        )
    return {**fixed, "environment": environment}


def _checked(data: dict[str, Any], where: str) -> AlertRaised:
    try:
        return AlertRaised.model_validate(data)
    except ValidationError as error:
        problems = ", ".join(_problems(error))
        raise _wrong(f"{where}: {problems}") from error


def _problems(error: ValidationError) -> Iterator[str]:
    for each in error.errors(include_url=False, include_input=False)[:3]:
        yield f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}"


def _wrong(message: str) -> WrongInput:
    return WrongInput("SCHEMA_INVALID", message)
