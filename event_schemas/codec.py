"""The strict CloudEvents codec for Kafka: binary out, binary and structured in.

Binary mode is header copying, so it is done here on the hot path; the SDK reads structured
mode, and the contract tests hold both modes against the SDK.
"""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from cloudevents.core.bindings import kafka

from event_schemas.envelope import COUNTERS, EXTENSIONS, SEQUENCE_DIGITS, Envelope
from event_schemas.payload import Json
from event_schemas.strict_json import Malformed, parse_json

Headers = Sequence[tuple[str, bytes | None]]
MAX_DATA_BYTES = 256 * 1024
JSON_TYPE = "application/json"
_REQUIRED = ("id", "source", "type", "specversion")
_READ = frozenset(
    {*_REQUIRED, "time", "subject", "dataschema", "datacontenttype", *EXTENSIONS}
)
_CONTENT_TYPE_LENGTH = len("content-type")
_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(\.\d+)?([Zz]|[+-]\d{2}:\d{2})",
    re.ASCII,
)


def peek_type(headers: Headers) -> str | None:
    """Return the `ce_type` header as text without reading anything else, None when absent."""
    for name, value in headers:
        if name == "ce_type" and value:
            return value.decode("utf-8", "replace")
    return None


def is_structured(headers: Headers) -> bool:
    """Say whether the content type announces a structured-mode CloudEvent."""
    return any(
        name.lower() == "content-type"
        and (value or b"").startswith(b"application/cloudevents")
        for name, value in headers
        if len(name) == _CONTENT_TYPE_LENGTH  # told apart by length, cheaper than by case
    )


def decode(headers: Headers, value: bytes | None) -> Envelope:
    """Return the envelope of one record in binary or structured mode.

    Raises `Malformed` with `TOMBSTONE`, `NOT_CLOUDEVENT`, `BAD_HEADER`, `BAD_TEXT`,
    `BAD_NUMBER`, `TOO_LARGE` or `SCHEMA_INVALID`; never anything else.
    """
    if value is None:
        raise Malformed("TOMBSTONE", "the record has no value")
    if is_structured(headers):
        attributes, data = _structured(headers, value)
        where = "NOT_CLOUDEVENT"
    else:
        attributes, data = _binary_attributes(headers), value
        where = "BAD_HEADER"
    if len(data) > MAX_DATA_BYTES:
        raise Malformed("TOO_LARGE", f"data has {len(data)} bytes, limit {MAX_DATA_BYTES}")
    return _envelope(attributes, data, where)


def encode(envelope: Envelope) -> tuple[list[tuple[str, bytes]], bytes]:
    """Return headers and value of *envelope* in Kafka binary mode."""
    return encode_headers(envelope), envelope.data


def encode_headers(envelope: Envelope) -> list[tuple[str, bytes]]:
    """Return the Kafka headers of *envelope* in binary mode, attributes in a fixed order."""
    headers = [
        ("ce_specversion", b"1.0"),
        ("ce_id", envelope.id.encode()),
        ("ce_source", envelope.source.encode()),
        ("ce_type", envelope.type.encode()),
        ("content-type", JSON_TYPE.encode()),
    ]
    if envelope.time is not None:
        headers.append(("ce_time", format_time(envelope.time).encode()))
    for name in ("subject", "dataschema", *EXTENSIONS):
        value = getattr(envelope, name)
        if value is not None:
            headers.append((f"ce_{name}", _wire(name, value).encode()))
    return headers


def structured(envelope: Envelope) -> dict[str, Any]:
    """Return *envelope* as a structured-mode CloudEvent document (a JSON object)."""
    document: dict[str, Any] = {
        "specversion": "1.0",
        "id": envelope.id,
        "source": envelope.source,
        "type": envelope.type,
        "datacontenttype": JSON_TYPE,
    }
    if envelope.time is not None:
        document["time"] = format_time(envelope.time)
    for name in ("subject", "dataschema", *EXTENSIONS):
        value = getattr(envelope, name)
        if value is not None:
            document[name] = _wire(name, value)
    document["data"] = json.loads(envelope.data)
    return document


def parse_time(text: str) -> datetime:
    """Return the UTC time of an RFC 3339 *text*, cut to microseconds; raise ValueError."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"not an RFC 3339 time: {text[:40]}")
    day, clock, fraction, zone = match.groups()
    offset = "+00:00" if zone in {"Z", "z"} else zone
    at = datetime.fromisoformat(f"{day}T{clock}{(fraction or '')[:7]}{offset}")
    try:
        return at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("time out of range") from error


def format_time(at: datetime) -> str:
    """Return *at* (UTC) as RFC 3339 text with microseconds and `Z`."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _wire(name: str, value: object) -> str:
    return str(value).zfill(SEQUENCE_DIGITS) if name == "sequence" else str(value)


def _binary_attributes(headers: Headers) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for name, raw in headers:
        if not name.startswith("ce_") or name[3:] not in _READ:
            continue
        attribute = name[3:]
        if attribute in attributes:
            raise Malformed("BAD_HEADER", f"{name} appears twice")
        attributes[attribute] = _header_text(name, raw)
    if "type" not in attributes and "id" not in attributes:
        raise Malformed("NOT_CLOUDEVENT", "no ce_ headers and no CloudEvents content type")
    return attributes


def _header_text(name: str, raw: bytes | None) -> str:
    if raw is None:
        raise Malformed("BAD_HEADER", f"{name} is null")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed("BAD_HEADER", f"{name} is not UTF-8") from error
    if "\x00" in text:
        raise Malformed("BAD_HEADER", f"{name} holds a NUL character")
    return text


def _structured(headers: Headers, value: bytes) -> tuple[dict[str, str], bytes]:
    document = parse_json(value)
    if not isinstance(document, dict):
        raise Malformed("NOT_CLOUDEVENT", "a structured event is a JSON object")
    _need(document, "NOT_CLOUDEVENT")
    for name in _READ & document.keys():
        if document[name] is not None and not isinstance(document[name], str):
            raise Malformed("NOT_CLOUDEVENT", f"attribute {name} is not a string")
    kind = next(v for n, v in headers if n.lower() == "content-type") or b""
    try:
        event = kafka.from_structured_event(
            kafka.KafkaMessage(headers={"content-type": kind}, key=None, value=value)
        )
        data = event.get_data()
    except Exception as error:
        raise Malformed(
            "NOT_CLOUDEVENT", f"structured mode: {type(error).__name__}"
        ) from error
    attributes = {
        n: document[n] for n in _READ & document.keys() if document[n] is not None
    }
    return attributes, _data_bytes(data)


def _data_bytes(data: Json) -> bytes:
    if isinstance(data, bytes):
        return data
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def _need(attributes: dict[str, Any], code: str) -> None:
    missing = [name for name in _REQUIRED if not attributes.get(name)]
    if missing:
        raise Malformed(code, f"attribute missing: {', '.join(missing)}")


def _envelope(attributes: dict[str, str], data: bytes, where: str) -> Envelope:
    _need(attributes, where)
    if attributes["specversion"] != "1.0":
        raise Malformed("NOT_CLOUDEVENT", f"specversion {attributes['specversion'][:20]}")
    kind = attributes.get("datacontenttype", JSON_TYPE)
    if kind.split(";")[0].strip().lower() != JSON_TYPE:
        raise Malformed("SCHEMA_INVALID", f"data is {kind[:60]}, not {JSON_TYPE}")
    try:
        at = parse_time(attributes["time"]) if "time" in attributes else None
        counters = {n: int(attributes[n]) for n in COUNTERS & attributes.keys()}
    except ValueError as error:
        raise Malformed(where, str(error)) from error
    texts = {
        name: attributes.get(name)
        for name in ("subject", "dataschema", *EXTENSIONS)
        if name not in COUNTERS
    }
    return Envelope(
        id=attributes["id"],
        source=attributes["source"],
        type=attributes["type"],
        time=at,
        data=data,
        **texts,  # type: ignore[arg-type]
        **counters,  # type: ignore[arg-type]
    )


def unread_headers(headers: Headers) -> Iterable[str]:
    """Yield the names of headers that are null or not UTF-8 and that we do not need."""
    for name, raw in headers:
        if name.startswith("ce_") and name[3:] in _READ:
            continue
        try:
            if raw is None:
                yield name
            else:
                raw.decode("utf-8")
        except UnicodeDecodeError:
            yield name
