"""Every kind of bad input that can come over Kafka: its code, and the good record behind it."""

import json
from typing import Any

from aiokafka import AIOKafkaProducer

from infra.kafka.topics import Wanted, ensure
from tests.support.eventually import eventually
from tests.support.members import intake_member
from tests.support.records import alert_data, alert_headers
from tests.support.store import log_of, rows

Headers = list[tuple[str, bytes | None]]
STRUCTURED: Headers = [("content-type", b"application/cloudevents+json")]


def _data(**changes: Any) -> bytes:
    return json.dumps(alert_data(**changes)).encode()


def _with(name: str, value: bytes | None) -> Headers:
    return [(n, value if n == name else v) for n, v in alert_headers("bad")]


def _without(name: str) -> Headers:
    return [each for each in alert_headers("bad") if each[0] != name]


def _event(**changes: Any) -> bytes:
    document = {
        "specversion": "1.0",
        "id": "structured",
        "source": "/tests",
        "type": "dev.caseops.alert.raised.v1",
        "tenantid": "prod-cn",
        "data": alert_data(),
    }
    return json.dumps({**document, **changes}).encode()


RAW = _data().decode()
KINDS: dict[str, tuple[str, Headers, bytes | None]] = {
    "null value": ("TOMBSTONE", alert_headers("bad"), None),
    "no headers at all": ("NOT_CLOUDEVENT", [], _data()),
    "not JSON": ("SCHEMA_INVALID", alert_headers("bad"), b"{broken"),
    "an array": ("SCHEMA_INVALID", alert_headers("bad"), b"[]"),
    "not UTF-8": ("BAD_TEXT", alert_headers("bad"), b'{"alert_id": "\xff"}'),
    "a NUL in text": (
        "BAD_TEXT",
        alert_headers("bad"),
        RAW.replace("alert-1", "a\\u0000b").encode(),
    ),
    "a lone surrogate": (
        "BAD_TEXT",
        alert_headers("bad"),
        RAW.replace("alert-1", "\\ud800").encode(),
    ),
    "NaN": ("BAD_NUMBER", alert_headers("bad"), RAW.replace('"fp-1"', "NaN").encode()),
    "infinity": (
        "BAD_NUMBER",
        alert_headers("bad"),
        RAW.replace('"fp-1"', "1e999").encode(),
    ),
    "nested too deeply": (
        "SCHEMA_INVALID",
        alert_headers("bad"),
        b"[" * 100_000 + b"]" * 100_000,
    ),
    "a field missing": (
        "SCHEMA_INVALID",
        alert_headers("bad"),
        b'{"tenant": "prod-cn", "environment": "e", "source": "s"}',
    ),
    "a number as text": (
        "SCHEMA_INVALID",
        alert_headers("bad"),
        _data(labels={"a": 1}),
    ),
    "too large": ("TOO_LARGE", alert_headers("bad"), _data(summary="x" * 300_000)),
    "unknown type": (
        "SCHEMA_UNKNOWN",
        _with("ce_type", b"dev.caseops.alert.raised.v99"),
        _data(),
    ),
    "no id": ("BAD_HEADER", _without("ce_id"), _data()),
    "null id": ("BAD_HEADER", _with("ce_id", None), _data()),
    "id not UTF-8": ("BAD_HEADER", _with("ce_id", b"\xff\xfe"), _data()),
    "id twice": ("BAD_HEADER", [*alert_headers("bad"), ("ce_id", b"other")], _data()),
    "time of no kind": (
        "BAD_HEADER",
        [*alert_headers("bad"), ("ce_time", b"now")],
        _data(),
    ),
    "specversion 0.3": ("NOT_CLOUDEVENT", _with("ce_specversion", b"0.3"), _data()),
    "another tenant in the data": (
        "TENANT_MISMATCH",
        alert_headers("bad"),
        _data(tenant="x"),
    ),
    "structured without id": ("NOT_CLOUDEVENT", STRUCTURED, _event(id="")),
    "structured array": ("NOT_CLOUDEVENT", STRUCTURED, b"[]"),
    "structured garbage": ("SCHEMA_INVALID", STRUCTURED, b"garbage"),
    "structured number as source": ("NOT_CLOUDEVENT", STRUCTURED, _event(source=7)),
}
REFUSED: dict[str, tuple[Headers, bytes]] = {
    "MISSING_TENANT": (_without("ce_tenantid"), _data()),
    "MISSING_ENVIRONMENT": (alert_headers("no-environment"), _data(environment="")),
    "MISSING_SOURCE": (alert_headers("no-source"), _data(source=None)),
}


async def test_each_kind_has_its_code_and_hurts_nobody(
    kafka_bootstrap: str, database: str, topic_prefix: str
) -> None:
    """EVT-07, EVT-14, INT-06: bad, good, bad, good …; every good one has its effect."""
    topic = f"{topic_prefix}.alerts"
    await _publish(kafka_bootstrap, topic)
    async with intake_member(kafka_bootstrap, database, topic_prefix):

        async def all_handled() -> None:
            found = await rows(database, "select next_offset from consumer_progress")
            assert [(2 * len(KINDS) + len(REFUSED),)] == found

        await eventually(all_handled, seconds=30)

    letters = await rows(database, 'select "offset", reason from dead_letters order by 1')
    codes = dict(zip(KINDS, (code for _, code in letters), strict=True))
    assert {kind: code for kind, (code, _, _) in KINDS.items()} == codes
    assert [2 * number for number in range(len(KINDS))] == [at for at, _ in letters]
    log = await log_of(database)
    refused = [json.loads(e.data) for e in log if e.type.endswith("intake.rejected.v1")]
    assert len(KINDS) == sum(e.type.endswith("alert.received.v1") for e in log)
    assert list(REFUSED) == [each["reason"] for each in refused]


async def _publish(bootstrap: str, topic: str) -> None:
    """Put each kind on *topic*, a good record behind each."""
    await ensure(bootstrap, [Wanted(topic, 1, {})], 1)
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        for number, (_, headers, value) in enumerate(KINDS.values()):
            good = _data(number=100 + number, environment=f"good-{number}")
            await producer.send_and_wait(topic, value, key=b"k", headers=headers)
            await producer.send_and_wait(
                topic, good, key=b"k", headers=alert_headers(f"good-{number}")
            )
        for headers, refusable in REFUSED.values():
            await producer.send_and_wait(topic, refusable, key=b"k", headers=headers)
