"""Sort a batch of raw records into messages, dead letters and counted skips."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from consumers.decider import Message
from event_schemas.codec import (
    Headers,
    decode,
    is_structured,
    peek_type,
    unread_headers,
)
from event_schemas.envelope import Envelope
from event_schemas.payload import Payload
from event_schemas.registry import BY_NAME, travels
from event_schemas.strict_json import Malformed
from event_schemas.topics import short_name
from event_schemas.upcasters import UPCASTERS
from infra.unit_of_work import DeadLetter, Outgoing

TOKEN_HEADER = "caseops-task-token"  # noqa: S105 - the name of a header


class Record(Protocol):
    """A Kafka record as the client gives it; *topic* is the full name."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class Reading:
    """What one consumer reads: wire names, how data is parsed, topics it answers for."""

    consumer: str
    prefix: str
    reads: frozenset[str]
    parse: Callable[[Envelope], Payload]
    owns: frozenset[str]


@dataclass(slots=True)
class Sorted:
    """A batch after sorting; every record is in exactly one of the three."""

    messages: list[tuple[Record, Message]] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    skips: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    ignored_headers: int = 0


def sort(records: Sequence[Record], reading: Reading) -> Sorted:
    """Return *records* sorted; never raises for anything a record can hold."""
    out = Sorted()
    for record in records:
        _place(record, reading, out)
    return out


def _place(record: Record, reading: Reading, out: Sorted) -> None:
    name = peek_type(record.headers)
    topic = short_name(reading.prefix, record.topic)
    owner = topic in reading.owns
    known_elsewhere = name is not None and not _is_read(name, topic, reading)
    if known_elsewhere and not is_structured(record.headers):
        _pass_over(record, name or "", out, owner=owner)
        return
    try:
        envelope = decode(record.headers, record.value)
        if not _is_read(envelope.type, topic, reading):
            _pass_over(record, envelope.type, out, owner=owner)
            return
        payload = reading.parse(envelope)
    except Malformed as error:
        if owner:
            out.letters.append(letter(record, error.code, error.detail))
        else:
            out.skips[record.topic, record.partition, "undecodable"] += 1
        return
    out.ignored_headers += sum(1 for _ in unread_headers(record.headers))
    out.messages.append((record, _message(record, envelope, payload, reading.prefix)))


def _is_read(name: str, topic: str, reading: Reading) -> bool:
    """Say whether *name* is read from *topic*: a fact from outside is none, whatever it claims."""
    return name in reading.reads and travels(name, topic)


def _pass_over(record: Record, name: str, out: Sorted, *, owner: bool) -> None:
    registered = name in BY_NAME or name in UPCASTERS
    if owner and not registered:
        out.letters.append(letter(record, "SCHEMA_UNKNOWN", f"type {name[:120]}"))
        return
    why = "other_type" if registered else "unregistered_type"
    out.skips[record.topic, record.partition, why] += 1


def _message(record: Record, envelope: Envelope, payload: Payload, prefix: str) -> Message:
    digest = sha256(envelope.type.encode() + b"\n" + envelope.data).digest()
    topic = short_name(prefix, record.topic)
    return Message(envelope, payload, topic, record.partition, record.offset, digest)


def letter(
    record: Record, code: str, detail: str, envelope: Envelope | None = None
) -> DeadLetter:
    """Return the dead letter of *record*; its task token is removed, all else is kept."""
    return DeadLetter(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key,
        headers=[header for header in record.headers if header[0] != TOKEN_HEADER],
        value=record.value,
        tenant=(envelope.tenantid or "-") if envelope else "-",
        source=envelope.source if envelope else f"kafka:{record.topic}/{record.partition}",
        id=envelope.id if envelope else str(record.offset),
        reason=code,
        detail=_printable(detail),
    )


def _printable(text: str) -> str:
    return text[:2000].encode("utf-8", "replace").decode().replace("\x00", "?")


def to_publish(dead: DeadLetter, *, consumer: str, prefix: str) -> Outgoing:
    """Return the record for people and tools on the consumer's dead letter topic."""
    about = {
        "caseops-error-consumer": consumer,
        "caseops-error-code": dead.reason,
        "caseops-error-detail": dead.detail,
        "caseops-error-topic": dead.topic,
        "caseops-error-partition": str(dead.partition),
        "caseops-error-offset": str(dead.offset),
    }
    return Outgoing(
        kind="dead_letter",
        order_key=f"{consumer}/{dead.topic}/{dead.partition}".encode(),
        topic=f"{prefix}.dlq.{consumer}",
        message_key=dead.key,
        headers=[*dead.headers, *((name, text.encode()) for name, text in about.items())],
        value=dead.value,
    )


def record_id(record: Record) -> str:
    """Return what names the record at its offset: its event id, else a digest of its value."""
    for name, value in record.headers:
        if name == "ce_id" and value:
            return value.decode("utf-8", "replace").replace("\x00", "")[:300]
    return f"sha256:{sha256(record.value or b'').hexdigest()}"
