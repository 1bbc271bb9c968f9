"""The codec under fire: arbitrary records decode or are refused with a known code."""

import json
from datetime import UTC

from hypothesis import given, settings
from hypothesis import strategies as st

from event_schemas.codec import Headers, decode, encode
from event_schemas.envelope import Envelope
from event_schemas.registry import read
from event_schemas.strict_json import Malformed, parse_json

STRUCTURED = [("content-type", b"application/cloudevents+json")]
BINARY = [
    ("ce_specversion", b"1.0"),
    ("ce_id", b"e-1"),
    ("ce_source", b"/monitoring"),
    ("ce_type", b"dev.caseops.artifact.rejected.v1"),
]
CODES = {
    "TOMBSTONE",
    "NOT_CLOUDEVENT",
    "BAD_HEADER",
    "BAD_TEXT",
    "BAD_NUMBER",
    "TOO_LARGE",
    "SCHEMA_INVALID",
}

attribute = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
    min_size=1,
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(
    envelope=st.builds(
        Envelope,
        id=attribute,
        source=attribute,
        type=attribute,
        time=st.none() | st.datetimes(timezones=st.just(UTC)),
        data=st.recursive(
            st.none() | st.booleans() | st.integers(-(2**53), 2**53) | attribute,
            lambda inner: st.lists(inner) | st.dictionaries(attribute, inner),
        ).map(lambda value: json.dumps(value).encode()),
        tenantid=st.none() | attribute,
        sequence=st.none() | st.integers(1, 10**12 - 1),
        streamversion=st.none() | st.integers(1, 10**9),
    )
)
def test_what_we_write_we_read(envelope: Envelope) -> None:
    """Encoding and decoding in binary mode is the identity."""
    assert envelope == decode(*encode(envelope))


names = st.sampled_from(
    [
        "ce_id",
        "ce_source",
        "ce_type",
        "ce_specversion",
        "ce_time",
        "ce_sequence",
        "ce_datacontenttype",
        "content-type",
        "Content-Type",
        "ce_odd",
        "x",
    ]
)
raws = (
    st.none()
    | st.binary(max_size=30)
    | st.sampled_from([b"1.0", b"application/cloudevents+json", b"application/json"])
)
scalars = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=10)
bodies = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner)
)
documents = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ["specversion", "id", "source", "type", "time", "data", "data_base64", "x"], bodies
    ),
).map(lambda body: json.dumps({"specversion": "1.0", "id": "1", **body}).encode())


@settings(max_examples=60, deadline=None)
@given(
    sent=st.lists(st.tuples(names, raws), max_size=8)
    | st.just(STRUCTURED)
    | st.just(BINARY),
    value=st.none() | st.binary(max_size=200) | documents,
)
def test_nothing_but_malformed_escapes(sent: Headers, value: bytes | None) -> None:
    """Whatever a record holds, it decodes or is refused with a known code."""
    try:
        decode(sent, value)
    except Malformed as error:
        assert error.code in CODES  # noqa: PT017 - both ways out are fine


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200) | documents)
def test_reading_any_data_raises_nothing_else(value: bytes) -> None:
    """Reading a payload from arbitrary bytes gives a payload or a known code."""
    try:
        read(decode(BINARY, value))
    except Malformed as error:
        assert error.code in CODES  # noqa: PT017 - both ways out are fine


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=100) | documents)
def test_parsing_any_bytes_raises_nothing_else(value: bytes) -> None:
    """Parsing JSON from arbitrary bytes gives a value or a known code."""
    try:
        parse_json(value)
    except Malformed as error:
        assert error.code in CODES  # noqa: PT017 - both ways out are fine
