"""Golden events: every type ever shipped decodes, in both modes, by us and by the SDK alike."""

import json
from pathlib import Path
from typing import Any

import pytest
from cloudevents.core.bindings import kafka
from cloudevents.core.v1.event import CloudEvent

from event_schemas.codec import decode, encode, structured
from event_schemas.envelope import Envelope
from event_schemas.registry import BY_NAME, REGISTRY, entry_of, read

FOLDER = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
STRUCTURED = [("content-type", b"application/cloudevents+json; charset=utf-8")]


def golden(name: str) -> Envelope:
    """Return the golden event of wire *name*, as our codec reads it."""
    return decode(STRUCTURED, (FOLDER / f"{name}.json").read_bytes())


def sdk_event(envelope: Envelope) -> CloudEvent:
    """Return *envelope* as the SDK's event, its time parsed and its data a document."""
    document = structured(envelope)
    attributes = {name: item for name, item in document.items() if name != "data"}
    return CloudEvent({**attributes, "time": envelope.time}, document["data"])


def keeps(whole: Any, part: Any) -> bool:
    """Say whether *whole* still holds everything *part* says; later fields may be added."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and keeps(whole[name], item) for name, item in part.items()
        )
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(keeps, whole, part))
    return bool(whole == part)


def test_every_registered_type_has_a_golden_event() -> None:
    """A type enters the registry together with its golden event."""
    assert {entry.name for entry in REGISTRY} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_event_reads_as_its_type(name: str) -> None:
    """A golden event of any version reads as the current payload of its type."""
    envelope = golden(name)

    assert (name, entry_of(name).payload) == (envelope.type, type(read(envelope)))


@pytest.mark.parametrize("name", NAMES)
def test_no_value_is_lost_when_written_again(name: str) -> None:
    """Decoding a golden event and writing its payload again keeps every value."""
    if name not in BY_NAME:
        return  # an old version is written as the current one

    envelope = golden(name)

    assert keeps(json.loads(read(envelope).model_dump_json()), json.loads(envelope.data))


@pytest.mark.parametrize("name", NAMES)
def test_binary_and_structured_mode_say_the_same(name: str) -> None:
    """An event survives binary mode and structured mode unchanged."""
    envelope = golden(name)

    assert envelope == decode(*encode(envelope))


@pytest.mark.parametrize("name", NAMES)
def test_structured_documents_are_golden(name: str) -> None:
    """Our structured form of a golden event is the golden file."""
    assert json.loads((FOLDER / f"{name}.json").read_text()) == structured(golden(name))


@pytest.mark.parametrize("name", NAMES)
def test_our_binary_mode_is_the_sdks(name: str) -> None:
    """Our headers and value equal those the SDK writes for the same event."""
    envelope = golden(name)
    headers, value = encode(envelope)
    message = kafka.to_binary_event(sdk_event(envelope))

    assert (comparable(message.headers), json.loads(message.value)) == (
        comparable(dict(headers)),
        json.loads(value),
    )


def comparable(headers: dict[str, bytes]) -> dict[str, str]:
    """Return *headers* as text, the time without trailing zeros, of which writers differ."""
    texts = {name: raw.decode() for name, raw in headers.items()}
    if "ce_time" in texts:
        whole, _, fraction = texts["ce_time"].removesuffix("Z").partition(".")
        texts["ce_time"] = f"{whole}.{fraction.rstrip('0')}Z"
    return texts


@pytest.mark.parametrize("name", NAMES)
def test_the_sdk_reads_what_we_write(name: str) -> None:
    """The SDK reads our binary records to the same attributes and data."""
    envelope = golden(name)
    headers, value = encode(envelope)
    event = kafka.from_binary_event(
        kafka.KafkaMessage(headers=dict(headers), key=None, value=value)
    )
    attributes = {
        key: item for key, item in event.get_attributes().items() if key != "time"
    }
    document = structured(envelope)

    assert {k: v for k, v in document.items() if k not in {"time", "data"}} == attributes
    assert (envelope.time, document["data"]) == (event.get_time(), event.get_data())


@pytest.mark.parametrize("name", NAMES)
def test_we_read_what_the_sdk_writes(name: str) -> None:
    """Records the SDK writes, binary or structured, decode to the same event."""
    envelope = golden(name)
    binary = kafka.to_binary_event(sdk_event(envelope))
    whole = kafka.to_structured_event(sdk_event(envelope))
    seen = [
        decode(list(message.headers.items()), message.value) for message in (binary, whole)
    ]

    assert [content(envelope)] * 2 == [content(item) for item in seen]


def content(envelope: Envelope) -> tuple[dict[str, Any], Any]:
    """Return attributes and parsed data, for events whose bytes differ in spacing only."""
    document = structured(envelope)
    return document, read(envelope)
