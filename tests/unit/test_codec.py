"""The strict codec: every way a record can be wrong has its code, and nothing else escapes."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from event_schemas.codec import (
    MAX_DATA_BYTES,
    Headers,
    decode,
    format_time,
    is_structured,
    parse_time,
    peek_type,
    unread_headers,
)
from event_schemas.envelope import Envelope
from event_schemas.registry import read
from event_schemas.strict_json import Malformed

STRUCTURED = [("content-type", b"application/cloudevents+json")]
TYPE = "dev.caseops.artifact.rejected.v1"


def headers(**changes: bytes | None) -> list[tuple[str, bytes | None]]:
    """Return good binary-mode headers with *changes*."""
    good = {
        "ce_specversion": b"1.0",
        "ce_id": b"e-1",
        "ce_source": b"/monitoring",
        "ce_type": TYPE.encode(),
        "content-type": b"application/json",
    }
    return list({**good, **changes}.items())


def without(*names: str) -> Headers:
    """Return good binary-mode headers, *names* left out."""
    return [header for header in headers() if header[0] not in names]


def document(**changes: Any) -> bytes:
    """Return a structured-mode event with *changes*."""
    good = {
        "specversion": "1.0",
        "id": "e-1",
        "source": "/m",
        "type": TYPE,
        "data": {"a": 1},
    }
    return json.dumps({**good, **changes}).encode()


def refusal(sent: Headers, value: bytes | None) -> str | None:
    """Return the code with which *sent* and *value* are refused, None when they decode."""
    try:
        decode(sent, value)
    except Malformed as error:
        return error.code
    return None


def test_a_binary_record_decodes() -> None:
    """Attributes come from the `ce_` headers, data is the value, byte for byte."""
    envelope = decode(
        headers(ce_time=b"2026-07-23T02:02:00Z", ce_tenantid=b"t"), b'{"a": 1}'
    )

    assert envelope == Envelope(
        id="e-1",
        source="/monitoring",
        type=TYPE,
        time=datetime(2026, 7, 23, 2, 2, tzinfo=UTC),
        data=b'{"a": 1}',
        tenantid="t",
    )


def test_a_structured_record_decodes() -> None:
    """A record announced as `application/cloudevents` carries attributes in its value."""
    envelope = decode(STRUCTURED, document(tenantid="t"))

    assert ("e-1", "t", b'{"a":1}') == (envelope.id, envelope.tenantid, envelope.data)


def test_the_content_type_decides_the_mode() -> None:
    """A stray `ce_` header does not turn a structured record into a binary one."""
    envelope = decode([*STRUCTURED, ("ce_id", b"other")], document())

    assert envelope.id == "e-1"


def test_a_missing_time_stays_missing() -> None:
    """Nothing is invented for an absent optional attribute."""
    assert decode(headers(), b"{}").time is None


@pytest.mark.parametrize("name", ["ce_id", "ce_source", "ce_type", "ce_specversion"])
def test_a_missing_attribute_is_refused_in_binary_mode(name: str) -> None:
    """The four required attributes are never invented."""
    assert refusal(without(name), b"{}") == "BAD_HEADER"


@pytest.mark.parametrize("name", ["id", "source", "type", "specversion"])
def test_a_missing_attribute_is_refused_in_structured_mode(name: str) -> None:
    """The four required attributes are never invented, nor taken when null."""
    assert refusal(STRUCTURED, document(**{name: None})) == "NOT_CLOUDEVENT"


@pytest.mark.parametrize(
    ("code", "sent", "value"),
    [
        pytest.param("TOMBSTONE", headers(), None, id="tombstone"),
        pytest.param("TOMBSTONE", STRUCTURED, None, id="structured tombstone"),
        pytest.param("NOT_CLOUDEVENT", [], b"{}", id="no headers"),
        pytest.param("NOT_CLOUDEVENT", [], document(), id="structured body, unannounced"),
        pytest.param(
            "NOT_CLOUDEVENT", headers(ce_specversion=b"0.3"), b"{}", id="old spec"
        ),
        pytest.param(
            "NOT_CLOUDEVENT", STRUCTURED, document(specversion="2.0"), id="new spec"
        ),
        pytest.param("BAD_HEADER", headers(ce_id=b""), b"{}", id="empty attribute"),
        pytest.param("BAD_HEADER", headers(ce_source=None), b"{}", id="null header"),
        pytest.param("BAD_HEADER", headers(ce_subject=b"\xff"), b"{}", id="not UTF-8"),
        pytest.param("BAD_HEADER", headers(ce_tenantid=b"a\x00"), b"{}", id="NUL"),
        pytest.param("BAD_HEADER", headers(ce_sequence=b"seven"), b"{}", id="no counter"),
        pytest.param("BAD_HEADER", [*headers(), ("ce_id", b"e-2")], b"{}", id="twice"),
        pytest.param(
            "SCHEMA_INVALID", headers(ce_datacontenttype=b"text/plain"), b"x", id="text"
        ),
        pytest.param(
            "SCHEMA_INVALID", STRUCTURED, document(datacontenttype="a/b"), id="a/b"
        ),
        pytest.param("NOT_CLOUDEVENT", STRUCTURED, b"[]", id="array body"),
        pytest.param("NOT_CLOUDEVENT", STRUCTURED, b'"text"', id="string body"),
        pytest.param("SCHEMA_INVALID", STRUCTURED, b"{", id="not JSON"),
        pytest.param("SCHEMA_INVALID", STRUCTURED, b"", id="empty body"),
        pytest.param("SCHEMA_INVALID", STRUCTURED, b"[" * 3000, id="deep nesting"),
        pytest.param("BAD_TEXT", STRUCTURED, b'"\xff"', id="body not UTF-8"),
        pytest.param("BAD_TEXT", STRUCTURED, document(data="a\x00"), id="NUL in data"),
        pytest.param(
            "BAD_TEXT", STRUCTURED, document(data={"a\x00": 1}), id="NUL in a key"
        ),
        pytest.param("BAD_TEXT", STRUCTURED, document(data="\ud800"), id="lone surrogate"),
        pytest.param("BAD_NUMBER", STRUCTURED, document(data=float("nan")), id="NaN"),
        pytest.param(
            "BAD_NUMBER", STRUCTURED, document(data=float("-inf")), id="-Infinity"
        ),
        pytest.param("BAD_NUMBER", STRUCTURED, b'{"data": 1e400}', id="1e400"),
        pytest.param("BAD_NUMBER", STRUCTURED, b"1" * 5000, id="5000 digits"),
        pytest.param("NOT_CLOUDEVENT", STRUCTURED, document(id=7), id="number as id"),
        pytest.param(
            "NOT_CLOUDEVENT", STRUCTURED, document(tenantid=True), id="bool extension"
        ),
        pytest.param(
            "NOT_CLOUDEVENT", STRUCTURED, document(time="noon"), id="structured time"
        ),
        pytest.param("TOO_LARGE", headers(), b"x" * (MAX_DATA_BYTES + 1), id="too large"),
        pytest.param(
            "TOO_LARGE",
            STRUCTURED,
            document(data="x" * MAX_DATA_BYTES),
            id="structured, large",
        ),
    ],
)
def test_what_cannot_be_read_has_its_code(
    code: str, sent: Headers, value: bytes | None
) -> None:
    """Each kind of bad record is refused with one stable code."""
    assert code == refusal(sent, value)


@pytest.mark.parametrize(
    "odd", [("x-trace", None), ("x-trace", b"\xff\xfe"), ("ce_custom", b"\xff")], ids=str
)
def test_a_broken_header_we_do_not_need_is_ignored_and_named(
    odd: tuple[str, bytes | None],
) -> None:
    """A null or undecodable header outside our attributes is reported, not refused."""
    sent = [*headers(), odd]

    assert (None, [odd[0]]) == (refusal(sent, b"{}"), list(unread_headers(sent)))


def test_the_largest_data_decodes() -> None:
    """The limit itself is allowed."""
    assert refusal(headers(), b"x" * MAX_DATA_BYTES) is None


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30",
        "2026-11-30T10:00:00",
        "20261130T100000Z",
        "2026-11-30 10:00:00Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T10:00:00Z\n",
        "2026-13-30T10:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "2026-11-30T10:00:00+99:99",
        "1732960800",
        "",
    ],
)
def test_only_rfc_3339_times_are_taken(text: str) -> None:
    """Naive, compact, date-only, out-of-range and numeric times are refused."""
    with pytest.raises(ValueError, match=r".+"):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00.000000Z"),
        ("2026-11-30t10:00:00.5z", "2026-11-30T10:00:00.500000Z"),
        ("2026-11-30T10:00:00.123456789Z", "2026-11-30T10:00:00.123456Z"),
        ("2026-11-30T10:00:00+05:30", "2026-11-30T04:30:00.000000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_times_become_utc_microseconds(text: str, expected: str) -> None:
    """Any RFC 3339 time is cut to microseconds and moved to UTC."""
    assert expected == format_time(parse_time(text))


def test_an_empty_time_header_is_refused() -> None:
    """An attribute that is there but empty is an error of the sender."""
    assert refusal(headers(ce_time=b""), b"{}") == "BAD_HEADER"


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("SCHEMA_INVALID", b""),
        ("SCHEMA_INVALID", b"{}"),
        ("SCHEMA_INVALID", b"not json"),
        ("SCHEMA_INVALID", b"[" * 3000),
        ("BAD_TEXT", b'{"join_id": "a\\u0000"}'),
        ("BAD_TEXT", b'{"join_id": "\\ud800"}'),
        ("BAD_NUMBER", b'{"join_id": NaN}'),
    ],
)
def test_binary_data_is_judged_when_its_payload_is_read(code: str, value: bytes) -> None:
    """Reading the payload names what is wrong with the data of a binary record."""
    envelope = decode(headers(), value)

    with pytest.raises(Malformed) as caught:
        read(envelope)
    assert code == caught.value.code


@pytest.mark.parametrize("data", [b"NaN", b"1e400", b'"a\\u0000"', b'{"\\u0000": 1}'])
def test_free_form_data_is_clean_too(data: bytes) -> None:
    """NUL and numbers out of range do not slip in where any JSON is allowed."""
    about = b'"source": "s", "id": "i", "topic": "t", "partition": 0, "offset": 0, "digest": "d"'
    value = b'{"reason": "R", "message": {%s}, "detail": "", "data": %s}' % (about, data)
    envelope = decode(headers(ce_type=b"dev.caseops.intake.rejected.v1"), value)

    with pytest.raises(Malformed) as caught:
        read(envelope)
    assert caught.value.code in {"BAD_TEXT", "BAD_NUMBER"}


def test_an_unknown_type_has_its_own_code() -> None:
    """A type that nobody registered is told apart from data that does not fit."""
    envelope = decode(headers(ce_type=b"dev.caseops.weather.changed.v1"), b"{}")

    with pytest.raises(Malformed) as caught:
        read(envelope)
    assert caught.value.code == "SCHEMA_UNKNOWN"


def test_peeking_reads_the_type_and_nothing_else() -> None:
    """The type is known before anything is parsed; an absent one is None."""
    assert (TYPE, None, None) == (
        peek_type([("x", b"\xff"), *headers()]),
        peek_type(STRUCTURED),
        peek_type(headers(ce_type=None)),
    )


def test_structured_mode_is_seen_by_its_content_type() -> None:
    """Only a content type of the CloudEvents family announces structured mode."""
    assert (True, True, False, False) == (
        is_structured(STRUCTURED),
        is_structured([("Content-Type", b"application/cloudevents")]),
        is_structured(headers()),
        is_structured([("content-type", None)]),
    )
