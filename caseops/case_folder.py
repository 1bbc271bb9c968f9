"""A case folder to the alerts that ask for its investigation (local mode).

The same folder with the same alerts and context gives the same events, so that asking twice
is one run. Another content, or a run *tag*, gives new signals in an environment of their own,
and with them a new run.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from event_schemas.alerts import AlertRaised
from event_schemas.codec import parse_time
from event_schemas.envelope import Envelope
from infra.errors import WrongInput
from producers.alert_formats import RAISED, alerts_of_body, event_of, is_alertmanager
from producers.alert_input import LOCAL, parse_input

ALERTS, CONTEXT = "alert.json", "context.json"
_LAYOUT = "A case folder holds alert.json, context.json and telemetry files."
_MARK_LENGTH = 8


def alerts_of(
    folder: Path, *, tenant: str = LOCAL, environment: str | None = None, tag: str = ""
) -> list[Envelope]:
    """Return the events to publish for *folder*: its alerts, pointed at its telemetry.

    `alert.json` is an Alertmanager body, or CloudEvents of our own type (which keep their
    tenant and environment). The environment is the one given, else the folder's name, made
    its own by a mark of path, content and *tag*.
    """
    folder = folder.resolve()
    context = _document(folder / CONTEXT)
    document = _document(folder / ALERTS, dict, list)
    mark = _mark(folder, tag)
    place = environment or f"{folder.name}-{mark}"
    alerts = _alerts(folder, document, tenant, place)
    if not alerts:
        raise _wrong(folder / ALERTS, "it holds no alert")
    more = {**_scope(folder, context), "case_folder": str(folder)}
    return [event_of(_marked(alert, mark, more)) for alert in alerts]


def _alerts(
    folder: Path,
    document: Any,  # noqa: ANN401 - any JSON object or array
    tenant: str,
    environment: str,
) -> list[AlertRaised]:
    try:
        if isinstance(document, dict) and is_alertmanager(document):
            return alerts_of_body(document, tenant=tenant, environment=environment)
        return [_read(each) for each in parse_input((folder / ALERTS).read_bytes())]
    except WrongInput as error:
        raise _wrong(folder / ALERTS, error.message) from error


def _read(envelope: Envelope) -> AlertRaised:
    alert = RAISED.payload.model_validate_json(envelope.data)
    if not isinstance(alert, AlertRaised):
        raise TypeError("an alert is read as an alert")
    return alert


def _marked(alert: AlertRaised, mark: str, more: dict[str, Any]) -> AlertRaised:
    given = {name: value for name, value in more.items() if value}
    fingerprint = f"{alert.fingerprint[:150]}-{mark}"
    return alert.model_copy(update={**given, "fingerprint": fingerprint})


def _mark(folder: Path, tag: str) -> str:
    digest = sha256(f"{folder}\n{tag}\n".encode())
    for name in (ALERTS, CONTEXT):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:_MARK_LENGTH]


def _scope(folder: Path, context: dict[str, Any]) -> dict[str, Any]:
    """Return the window and the services that the context names."""
    window = context.get("window") or {}
    names = [*context.get("services", ()), *context.get("candidate_services", ())]
    try:
        times = {
            f"window_{end}": parse_time(window[end])
            for end in ("start", "end")
            if window.get(end)
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise _wrong(folder / CONTEXT, f"window: {error}") from error
    return {**times, "services": tuple(dict.fromkeys(str(name) for name in names))}


def _document(path: Path, *kinds: type) -> Any:  # noqa: ANN401 - any JSON object or array
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise _wrong(path, "it is not there or not readable") from error
    except ValueError as error:
        raise _wrong(path, f"not JSON: {error}") from error
    if not isinstance(document, kinds or (dict,)):
        raise _wrong(path, "a JSON object is expected")
    return document


def _wrong(path: Path, what: str) -> WrongInput:
    return WrongInput("CASE_FOLDER_INVALID", f"{path}: {what}", _LAYOUT)
