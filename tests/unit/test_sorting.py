"""Sorting raw records into messages, dead letters and counted skips."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.sorting import (
    TOKEN_HEADER,
    Reading,
    letter,
    record_id,
    sort,
    to_publish,
)
from event_schemas.alerts import AlertRaised
from event_schemas.joins import JoinClosed
from event_schemas.registry import names, read
from event_schemas.runs import RunCompleted
from tests.support.builders import a, history
from tests.support.records import RawRecord, alert_record, event_record

ALERTS = Reading("intake", "caseops", names(AlertRaised), read, frozenset({"alerts"}))
LOG = Reading("clock", "caseops", names(RunCompleted), read, frozenset())
STRUCTURED = [("content-type", b"application/cloudevents+json")]


def a_record(value: bytes | None = b"{}", **headers: bytes | None) -> RawRecord:
    """Return a record of the alerts topic with *headers*."""
    found = [(name.replace("__", "-"), raw) for name, raw in headers.items()]
    return RawRecord("caseops.alerts", 2, 9, b"k", value, found)


def test_a_readable_record_is_a_message() -> None:
    """Topic without prefix, place, and a digest of type and body."""
    record = alert_record(4)
    [(raw, message)] = sort([record], ALERTS).messages

    assert raw is record
    assert ("alerts", 0, 4, "event-4") == (
        message.topic,
        message.partition,
        message.offset,
        message.envelope.id,
    )
    body = (record.value or b"").strip()
    assert sha256(message.envelope.type.encode() + b"\n" + body).digest() == message.digest
    assert isinstance(message.payload, AlertRaised)


def test_types_of_others_are_skips_before_any_parsing() -> None:
    """Picking is by header: the body of a foreign type is not even looked at."""
    foreign = a_record(b"\xff not json", ce_type=b"dev.caseops.join.closed.v1")

    assert {("caseops.alerts", 2, "other_type"): 1} == dict(sort([foreign], ALERTS).skips)


@pytest.mark.parametrize(
    ("reading", "reason"), [(ALERTS, "SCHEMA_UNKNOWN"), (LOG, "unregistered_type")]
)
def test_an_unregistered_type_is_parked_by_the_owner_alone(
    reading: Reading, reason: str
) -> None:
    """The topic's owner parks it; everybody else counts a skip."""
    out = sort([a_record(ce_type=b"com.example.odd")], reading)

    found = [dead.reason for dead in out.letters] + [why for *_, why in out.skips]
    assert [reason] == found


BROKEN: list[tuple[RawRecord, str]] = [
    (a_record(None), "TOMBSTONE"),
    (a_record(b"{}"), "NOT_CLOUDEVENT"),
    (a_record(b"{}", ce_type=b"dev.caseops.alert.raised.v1"), "BAD_HEADER"),
    (a_record(b"{}", ce_id=b"\xff", ce_type=b"dev.caseops.alert.raised.v1"), "BAD_HEADER"),
    (a_record(b"{]", content__type=b"application/cloudevents+json"), "SCHEMA_INVALID"),
    (a_record(b"[]", content__type=b"application/cloudevents+json"), "NOT_CLOUDEVENT"),
    (alert_record(1, severity=None), "SCHEMA_INVALID"),
]


@pytest.mark.parametrize(("record", "code"), BROKEN)
def test_an_undecodable_record_is_parked_by_the_owner(record: RawRecord, code: str) -> None:
    """A stable code for each way to be broken."""
    assert [code] == [dead.reason for dead in sort([record], ALERTS).letters]


@pytest.mark.parametrize("record", [record for record, _ in BROKEN])
def test_others_count_an_undecodable_record(record: RawRecord) -> None:
    """Nobody but the owner parks it, and nobody stops for it."""
    out = sort([record], LOG)

    assert ([], [], 1) == (out.letters, out.messages, out.skips.total())


def test_structured_mode_is_read_whatever_its_type() -> None:
    """The type is inside the body, so it has to be parsed to be picked."""
    body = b'{"specversion": "1.0", "id": "1", "source": "/s", "type": "%s", "data": {}}'
    foreign = RawRecord(
        "caseops.alerts", 0, 0, None, body % b"dev.caseops.join.closed.v1", STRUCTURED
    )
    odd = RawRecord("caseops.alerts", 0, 1, None, body % b"odd", STRUCTURED)
    out = sort([foreign, odd], ALERTS)

    assert [("caseops.alerts", 0, "other_type")] == list(out.skips)
    assert ["SCHEMA_UNKNOWN"] == [dead.reason for dead in out.letters]


def test_headers_nobody_needs_are_ignored_and_counted() -> None:
    """A null or binary header elsewhere is no reason to park."""
    record = alert_record(1)
    record.headers = [*record.headers, ("x", None), ("y", b"\xff"), ("z", b"fine")]
    out = sort([record], ALERTS)

    assert (1, 2) == (len(out.messages), out.ignored_headers)


def test_a_dead_letter_keeps_everything_but_the_token() -> None:
    """Original key, bytes and headers survive; a task token does not."""
    headers: list[tuple[str, bytes | None]] = [(TOKEN_HEADER, b"secret"), ("odd", b"\xff")]
    record = RawRecord("caseops.commands.logs", 1, 5, b"\x00", b"\xfe", headers)
    dead = letter(record, "NOT_CLOUDEVENT", "bad \x00 text \ud800")

    assert ([("odd", b"\xff")], b"\x00", b"\xfe") == (dead.headers, dead.key, dead.value)
    assert ("-", "kafka:caseops.commands.logs/1", "5") == (
        dead.tenant,
        dead.source,
        dead.id,
    )
    assert "bad ? text ?" == dead.detail


def test_a_dead_letter_of_a_decoded_record_carries_its_name() -> None:
    """People look for tenant, source and id."""
    [(envelope, _)] = history([a(JoinClosed)])
    dead = letter(event_record(1, envelope), "HANDLER_FAILED", "d", envelope)

    assert ("prod-cn", "/caseops/join_engine", envelope.id) == (
        dead.tenant,
        dead.source,
        dead.id,
    )


def test_a_parked_record_is_published_for_people() -> None:
    """Original bytes, and why and where it was parked, in order per place."""
    dead = letter(a_record(b"\xfe", odd=b"\xff"), "BAD_HEADER", "why")
    out = to_publish(dead, consumer="intake", prefix="caseops")
    headers = dict(out.headers)

    assert ("caseops.dlq.intake", b"k", b"\xfe", b"intake/caseops.alerts/2") == (
        out.topic,
        out.message_key,
        out.value,
        out.order_key,
    )
    assert (b"\xff", b"BAD_HEADER", b"why", b"2", b"9") == (
        headers["odd"],
        headers["caseops-error-code"],
        headers["caseops-error-detail"],
        headers["caseops-error-partition"],
        headers["caseops-error-offset"],
    )


def test_a_record_is_named_by_its_id_or_its_bytes() -> None:
    """What stands at an offset can be told again after a restart."""
    assert "e-1" == record_id(a_record(ce_id=b"e-\x001"))
    assert f"sha256:{sha256(b'').hexdigest()}" == record_id(a_record(None))
    assert record_id(a_record(b"x")) != record_id(a_record(b"y"))


raws = st.none() | st.binary(max_size=20)
a_name = st.sampled_from(["ce_id", "ce_type", "ce_specversion", "content-type", "x"])


@settings(max_examples=80, deadline=None)
@given(
    value=raws,
    headers=st.lists(st.tuples(a_name, raws), max_size=6),
    reading=st.sampled_from([ALERTS, LOG]),
)
def test_every_record_ends_in_exactly_one_place(
    value: bytes | None, headers: Any, reading: Reading
) -> None:
    """Conservation: whatever a record holds, it is a message, a letter or a skip."""
    out = sort([RawRecord("caseops.alerts", 0, 0, None, value, headers)], reading)

    assert 1 == len(out.messages) + len(out.letters) + out.skips.total()
