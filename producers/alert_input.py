"""What a person feeds to `caseops alert`, read into envelopes. Pure.

One CloudEvent in structured mode, an Alertmanager body, an array of either, or JSON lines of
either. All or nothing: one wrong item, and no envelope comes out. An alert that does not say
whose it is passes: refusing it is intake's to do, as a fact that can be audited (INT-06).
"""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from event_schemas.alerts import AlertRaised
from event_schemas.codec import decode
from event_schemas.envelope import Envelope
from event_schemas.payload import Json
from event_schemas.strict_json import Malformed, parse_json
from infra.errors import WrongInput
from producers.alert_formats import RAISED, alertmanager, is_alertmanager

STRUCTURED = [("content-type", b"application/cloudevents+json")]
INTAKES_TO_REFUSE = ("tenant", "environment", "source")
LOCAL = "local"


def parse_input(
    text: bytes, *, tenant: str = LOCAL, environment: str | None = None
) -> list[Envelope]:
    """Return the events in *text*; *tenant* and *environment* are for Alertmanager bodies.

    Raises `WrongInput` with the line or index of the first item that cannot be read.
    """
    envelopes = []
    for where, document in _documents(text):
        try:
            envelopes += _envelopes(document, tenant, environment)
        except Malformed as error:
            raise _wrong(error.code, where, error.detail) from error
        except WrongInput as error:
            raise _wrong(error.code, where, error.message, error.hint) from error
    return envelopes


def _documents(text: bytes) -> Iterator[tuple[str, Json]]:
    if not text.strip():
        raise WrongInput("NO_INPUT", "the input is empty")
    try:
        whole = parse_json(text)
    except Malformed as error:
        lines = [(n, line) for n, line in enumerate(text.split(b"\n"), 1) if line.strip()]
        if not _starts_whole(lines[0][1]):
            raise _wrong(error.code, _place(error), error.detail) from error
        yield from ((f"line {number}", _line(number, line)) for number, line in lines)
        return
    if isinstance(whole, list):
        yield from ((f"item {number}", item) for number, item in enumerate(whole))
    else:
        yield "input", whole


def _starts_whole(line: bytes) -> bool:
    """Say whether the first line is a JSON object of its own: then these are JSON lines."""
    try:
        return isinstance(parse_json(line), dict)
    except Malformed:
        return False


def _line(number: int, line: bytes) -> Json:
    try:
        return parse_json(line)
    except Malformed as error:
        raise _wrong(error.code, f"line {number}", error.detail) from error


def _place(error: Malformed) -> str:
    cause = error.__cause__
    return f"line {cause.lineno}" if isinstance(cause, json.JSONDecodeError) else "input"


def _envelopes(document: Json, tenant: str, environment: str | None) -> list[Envelope]:
    if not isinstance(document, dict):
        raise WrongInput("UNKNOWN_FORMAT", "an alert is a JSON object")
    if "specversion" in document:
        return [_cloudevent(document)]
    if is_alertmanager(document):
        return alertmanager(document, tenant=tenant, environment=environment)
    raise WrongInput(
        "UNKNOWN_FORMAT",
        "neither a CloudEvent nor an Alertmanager webhook",
        "A CloudEvent has specversion, an Alertmanager body has version 4 and alerts.",
    )


def _cloudevent(document: dict[str, Any]) -> Envelope:
    envelope = decode(STRUCTURED, json.dumps(document, ensure_ascii=False).encode())
    if envelope.type != RAISED.name:
        raise Malformed("SCHEMA_UNKNOWN", f"{envelope.type[:120]} is not {RAISED.name}")
    data = parse_json(envelope.data)
    if not isinstance(data, dict):
        raise Malformed("SCHEMA_INVALID", "data: not a JSON object")
    filled = {**data, **{name: data.get(name) or "-" for name in INTAKES_TO_REFUSE}}
    try:
        AlertRaised.model_validate_json(json.dumps(filled))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise Malformed("SCHEMA_INVALID", f"data.{field}: {first['msg']}") from error
    return envelope


def _wrong(code: str, where: str, what: str, hint: str = "") -> WrongInput:
    return WrongInput(code, f"{where}: {what}", hint)
