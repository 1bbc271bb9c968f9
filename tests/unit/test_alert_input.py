"""What `caseops alert` takes: four forms, and errors that name the place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from event_schemas.codec import structured
from infra.errors import WrongInput
from producers.alert_input import parse_input
from tests.support.alertmanager import a_body, mapped

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "payloads"


def an_event(**changes: Any) -> dict[str, Any]:
    """Return one alert as a structured CloudEvent."""
    (envelope,) = mapped(a_body())
    return {**structured(envelope), **changes}


def lines(*documents: Any) -> bytes:
    """Return *documents* as JSON lines."""
    return "\n".join(json.dumps(each) for each in documents).encode()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (json.dumps(an_event(id="a"), indent=2).encode(), ["a"]),
        (json.dumps([an_event(id="a"), an_event(id="b")]).encode(), ["a", "b"]),
        (lines(an_event(id="a"), an_event(id="b")) + b"\n\n", ["a", "b"]),
        (json.dumps(a_body(), indent=2).encode(), [an_event()["id"]]),
        (lines(an_event(id="a"), a_body()), ["a", an_event()["id"]]),
    ],
    ids=["one event", "array", "lines", "alertmanager", "mixed lines"],
)
def test_input_comes_in_four_forms(text: bytes, ids: list[str]) -> None:
    """`caseops alert` takes events one by one, together, or as Alertmanager sends them."""
    found = parse_input(text, tenant="acme", environment="production")

    assert ids == [each.id for each in found]


def test_an_event_comes_through_as_it_was() -> None:
    """Reading and sending changes no attribute and no data."""
    event = an_event(traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    (envelope,) = parse_input(json.dumps(event).encode())

    assert event == structured(envelope)


def without(field: str) -> Callable[[], dict[str, Any]]:
    """Return a maker of an event whose data lacks *field*."""

    def made() -> dict[str, Any]:
        event = an_event()
        return {**event, "data": {k: v for k, v in event["data"].items() if k != field}}

    return made


@pytest.mark.parametrize("field", ["tenant", "environment", "source"])
def test_what_intake_refuses_is_left_to_intake(field: str) -> None:
    """A refusal is a fact that can be audited, so the event is let through. INT-06."""
    (envelope,) = parse_input(json.dumps(without(field)()).encode())

    assert field not in json.loads(envelope.data)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b" \n", "NO_INPUT"),
        (b'{"specversion": "1.0"', "SCHEMA_INVALID: line 1: data is not JSON"),
        (b"7", "UNKNOWN_FORMAT: input: an alert is a JSON object"),
        (b'{"title": "High memory"}', "UNKNOWN_FORMAT: input: neither"),
        (b'{"a": NaN}', "BAD_NUMBER: input"),
        (b"\xff", "BAD_TEXT: input"),
        (lines(an_event()) + b"\n{", "SCHEMA_INVALID: line 2"),
        (json.dumps([an_event(), an_event(id="")]).encode(), "NOT_CLOUDEVENT: item 1"),
        (lines(an_event(), an_event(type="x.y")), "SCHEMA_UNKNOWN: line 2: x.y"),
        (json.dumps(an_event(data=[])).encode(), "SCHEMA_INVALID: input: data"),
        (json.dumps(without("fingerprint")()).encode(), "input: data.fingerprint"),
        (lines(a_body(version="1")), "UNKNOWN_FORMAT: input: webhook version 1"),
    ],
)
def test_input_that_cannot_be_read_says_where(text: bytes, told: str) -> None:
    """Code and place come first; one wrong item, and nothing is sent."""
    with pytest.raises(WrongInput, match=told):
        parse_input(text, environment="production")


@pytest.mark.shared_data
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="not run: no ../shared/data here")
def test_recorded_samples_are_mapped_or_refused_as_labelled() -> None:
    """Valid Alertmanager samples give events, invalid ones an error. INT."""
    manifest = json.loads((SAMPLES / "manifest.json").read_text())
    labelled = {
        each["file"]: each["valid"]
        for each in manifest
        if each["provider"] == "alertmanager"
    }

    def is_taken(file: str) -> bool:
        try:
            parse_input((SAMPLES / file).read_bytes(), environment="production")
        except WrongInput:
            return False
        return True

    assert labelled == {file: is_taken(file) for file in labelled}
