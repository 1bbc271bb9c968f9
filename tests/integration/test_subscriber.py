"""The edge to Kafka: positions from the store, rebalances, logs that are not ours."""

from collections import Counter
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from infra.errors import MustStop
from infra.kafka.topics import Wanted, ensure
from tests.support.eventually import eventually
from tests.support.members import intake_member
from tests.support.records import RawRecord, alert_headers, alert_record
from tests.support.store import log_of, rows


async def _topic(bootstrap: str, name: str, partitions: int = 1) -> None:
    await ensure(bootstrap, [Wanted(name, partitions, {})], 1)


async def _send(bootstrap: str, topic: str, records: list[RawRecord]) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, enable_idempotence=True, acks="all"
    ) as producer:
        for record in records:
            await producer.send_and_wait(
                topic, record.value, key=record.key, headers=list(record.headers)
            )


def _alerts(first: int, last: int) -> list[RawRecord]:
    return [alert_record(n, environment=f"env-{n}") for n in range(first, last)]


def _spread(records: list[RawRecord]) -> list[RawRecord]:
    for number, record in enumerate(records):
        record.key = f"key-{number}".encode()
    return records


async def _received(url: str) -> Counter[Any]:
    return Counter(
        event.causationid
        for event in await log_of(url)
        if event.type == "dev.caseops.alert.received.v1"
    )


async def test_every_record_reaches_the_loop_whatever_its_headers(
    kafka_bootstrap: str, database: str, topic_prefix: str
) -> None:
    """Broken headers, null headers, tombstones and reply_to neither vanish nor stop us."""
    topic = f"{topic_prefix}.alerts"
    await _topic(kafka_bootstrap, topic)
    bad_id = [*alert_headers("x")[:1], ("ce_id", b"\xff"), *alert_headers("x")[2:]]
    records = [
        alert_record(0),
        RawRecord(topic, 0, 1, b"k", None),
        RawRecord(topic, 0, 2, None, b"not json", alert_headers("bad-json")),
        RawRecord(topic, 0, 3, b"k", alert_record(3).value, bad_id),
        RawRecord(
            topic,
            0,
            4,
            b"k",
            alert_record(4).value,
            [*alert_headers("event-4"), ("n", None)],
        ),
        RawRecord(
            topic,
            0,
            5,
            b"k",
            alert_record(5).value,
            [*alert_headers("event-5"), ("reply_to", b"other")],
        ),
        alert_record(6),
    ]
    await _send(kafka_bootstrap, topic, records)

    async with intake_member(kafka_bootstrap, database, topic_prefix):

        async def all_there() -> None:
            assert {
                "event-0": 1,
                "event-4": 1,
                "event-5": 1,
                "event-6": 1,
            } == await _received(database)

        await eventually(all_there)
    codes = await rows(database, 'select "offset", reason from dead_letters order by 1')
    assert [(1, "TOMBSTONE"), (2, "SCHEMA_INVALID"), (3, "BAD_HEADER")] == codes


async def test_a_member_that_joins_shares_the_work_and_nothing_is_done_twice(
    kafka_bootstrap: str, database: str, topic_prefix: str
) -> None:
    """Join, leave and take-over: each alert has one effect, and both members progress."""
    topic = f"{topic_prefix}.alerts"
    await _topic(kafka_bootstrap, topic, 6)
    await _send(kafka_bootstrap, topic, _spread(_alerts(0, 100)))
    async with intake_member(kafka_bootstrap, database, topic_prefix) as first:
        async with intake_member(kafka_bootstrap, database, topic_prefix) as second:
            await _send(kafka_bootstrap, topic, _spread(_alerts(100, 200)))

            async def shared() -> None:
                assert 200 == len(await _received(database))
                assert first.once.offsets
                assert second.once.offsets

            await eventually(shared, seconds=30)
        await _send(kafka_bootstrap, topic, _spread(_alerts(200, 250)))

        async def took_over() -> None:
            assert 250 == len(await _received(database))

        await eventually(took_over, seconds=30)

    assert {1} == set((await _received(database)).values())


async def test_a_restart_goes_on_where_the_store_stands(
    kafka_bootstrap: str, database: str, topic_prefix: str
) -> None:
    """Positions come from the store, whatever the group's committed offsets say."""
    topic = f"{topic_prefix}.alerts"
    await _topic(kafka_bootstrap, topic)
    await _send(kafka_bootstrap, topic, _alerts(0, 5))
    for expected in (5, 8):

        async def handled(expected: int = expected) -> None:
            assert expected == len(await _received(database))

        async with intake_member(kafka_bootstrap, database, topic_prefix):
            await eventually(handled)
        await _send(kafka_bootstrap, topic, _alerts(5, 8)) if expected == 5 else None


async def test_a_replaced_topic_stops_the_consumer(
    kafka_bootstrap: str, database: str, topic_prefix: str
) -> None:
    """Another record where the last handled one was: LOG_REPLACED, nothing is handled."""
    topic = f"{topic_prefix}.alerts"
    await _topic(kafka_bootstrap, topic)
    await _send(kafka_bootstrap, topic, _alerts(10, 14))
    await rows(
        database,
        "insert into consumer_progress (consumer, topic, partition, next_offset, last_id)"
        " values ('intake', %s, 0, 2, 'another-id')",
        topic,
    )
    async with intake_member(kafka_bootstrap, database, topic_prefix) as member:
        with pytest.raises(MustStop, match="LOG_REPLACED"):
            await member.task

    assert [] == await log_of(database)


async def test_a_truncated_topic_stops_the_consumer(
    kafka_bootstrap: str, database: str, topic_prefix: str
) -> None:
    """Records deleted before they were handled are not jumped over in silence."""
    topic = f"{topic_prefix}.alerts"
    await _topic(kafka_bootstrap, topic)
    await _send(kafka_bootstrap, topic, _alerts(0, 6))
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=4)})
    await admin.close()
    await rows(
        database,
        "insert into consumer_progress (consumer, topic, partition, next_offset, last_id)"
        " values ('intake', %s, 0, 2, 'event-1')",
        topic,
    )
    async with intake_member(kafka_bootstrap, database, topic_prefix) as member:
        with pytest.raises(MustStop, match="LOG_TRUNCATED"):
            await member.task


async def test_a_new_decider_on_a_log_with_events_wants_to_be_told(
    kafka_bootstrap: str, database: str, topic_prefix: str
) -> None:
    """Nobody decides a whole history again by accident."""
    topic = f"{topic_prefix}.events"
    await _topic(kafka_bootstrap, topic)
    await _send(kafka_bootstrap, topic, _alerts(0, 1))
    async with intake_member(
        kafka_bootstrap, database, topic_prefix, topics=("events",)
    ) as member:
        with pytest.raises(MustStop, match="NEW_CONSUMER"):
            await member.task
