"""Header names that are no text: the record is read all the same, and so is the one behind it."""

from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.producer import message_accumulator
from aiokafka.producer import producer as producer_module
from aiokafka.record import default_records

from infra.kafka.topics import Wanted, ensure
from tests.support.eventually import eventually
from tests.support.members import intake_member
from tests.support.records import alert_record
from tests.support.store import log_of


class _RawName(str):
    """A header name that is written as bytes that are not UTF-8."""

    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        return b"\xff\xfe"


async def test_a_header_name_that_is_not_text_loses_nothing(
    kafka_bootstrap: str,
    database: str,
    topic_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client used to step over the rest of the batch: good records vanished."""
    builder = default_records._DefaultRecordBatchBuilderPy
    for module in (message_accumulator, producer_module):
        monkeypatch.setattr(module, "DefaultRecordBatchBuilder", builder)
    topic = f"{topic_prefix}.alerts"
    await ensure(kafka_bootstrap, [Wanted(topic, 1, {})], 1)
    async with AIOKafkaProducer(
        bootstrap_servers=kafka_bootstrap, acks="all", linger_ms=200
    ) as producer:
        sent = []
        for number in range(5):
            record = alert_record(number)
            headers = list(record.headers)
            if number == 1:
                headers.append((_RawName("x"), b"1"))
            sent.append(await producer.send(topic, record.value, headers=headers))
        for each in sent:
            await each

    async with intake_member(kafka_bootstrap, database, topic_prefix):

        async def all_there() -> None:
            taken = [
                e for e in await log_of(database) if e.type.endswith("alert.received.v1")
            ]
            assert [f"event-{number}" for number in range(5)] == [
                e.causationid for e in taken
            ]

        await eventually(all_there)
