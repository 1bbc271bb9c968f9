"""The relay on a real database and a real broker: what goes out, what is parked, what waits."""

import asyncio
from typing import Any

import pytest
import structlog
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from event_schemas.codec import encode_headers
from infra.database import connect
from infra.errors import MustStop, WrongInput
from infra.event_log import load_streams
from infra.outbox import list_rows, retry, skip
from outbox_relay import delivery
from outbox_relay import relay as relay_module
from outbox_relay.app import Place, run
from outbox_relay.health import RelayHealth
from tests.support.eventually import eventually
from tests.support.outbox_rows import (
    Facts,
    connected,
    create_topics,
    numbers_by_key,
    outbox,
    put,
    records,
    relay,
)

SMALL = {"max.message.bytes": "1000"}
TOO_LARGE = b"x" * 4000


@pytest.fixture
async def place(database: str, kafka_bootstrap: str, topic_prefix: str) -> Place:
    """Give an empty outbox and the topics of one installation."""
    names = ("events", "completions", "commands.logs", "commands.metrics")
    topics: dict[str, dict[str, str]] = {f"{topic_prefix}.{name}": {} for name in names}
    topics[f"{topic_prefix}.commands.logs"] = SMALL
    await create_topics(kafka_bootstrap, topics)
    return Place(database, kafka_bootstrap, topic_prefix)


@pytest.fixture
def facts(place: Place) -> Facts:
    """Give what appends facts."""
    return Facts(place.url, place.prefix)


async def left(place: Place, *positions: int) -> None:
    """Wait until exactly the rows at *positions* are left in the outbox."""

    async def only_these() -> None:
        assert list(positions) == [row["position"] for row in outbox(place.url)]

    await eventually(only_these)


async def values(place: Place, name: str) -> list[bytes]:
    """Return the values in topic *name*."""
    return [r.value for r in await records(place.bootstrap, f"{place.prefix}.{name}")]


async def test_facts_are_published_in_order_and_deleted(place: Place, facts: Facts) -> None:
    """Each fact is on the log once, per key in order, and leaves the outbox. EVT-05."""
    facts.commit("a", "b", "a", "c", "a", "b")

    async with relay(place):
        await left(place)

    found = numbers_by_key(await records(place.bootstrap, place.log_topic))
    assert {"a": [1, 2, 3], "b": [1, 2], "c": [1]} == found


async def test_records_carry_the_headers_of_the_codec(place: Place, facts: Facts) -> None:
    """Key, value and headers of a record are those the codec gives its envelope. EVT-01."""
    facts.commit("a")

    async with relay(place), await connect(place.url, "reader") as connection:
        await left(place)
        event = (await load_streams(connection, {"run/a": 0}))["run/a"][0].envelope

    (record,) = await records(place.bootstrap, place.log_topic)
    assert encode_headers(event) == list(record.headers)
    assert (b"a", event.data) == (record.key, record.value)


async def test_a_commit_wakes_the_relay(place: Place, facts: Facts) -> None:
    """A notification after the commit is followed by the record long before the next poll."""
    async with relay(place):
        facts.commit("a")
        await left(place)
        took = []
        for _ in range(5):
            begun = asyncio.get_running_loop().time()
            facts.commit("a")
            await left(place)
            took.append(asyncio.get_running_loop().time() - begun)

    assert min(took) < relay_module.IDLE_SECONDS / 2


async def test_without_a_notification_the_poll_finds_the_row(
    place: Place, facts: Facts
) -> None:
    """A lost notification costs a poll interval, nothing else."""
    async with relay(place):
        with connected(place.url) as connection:
            facts.append(connection, "a")
        await left(place)


async def test_other_kinds_keep_their_own_bytes(place: Place) -> None:
    """Headers (null ones too), key and a null value arrive as the row has them."""
    topic = f"{place.prefix}.commands.metrics"
    put(place.url, topic, b"\x00\xff", key="k")

    async with relay(place):
        await left(place)

    (record,) = await records(place.bootstrap, topic)
    assert (b"k", b"\x00\xff") == (record.key, record.value)
    assert (("ce_type", b"x"), ("ce_null", None)) == record.headers


async def test_a_transaction_that_commits_late_is_published(
    place: Place, facts: Facts
) -> None:
    """A row with a lower position that becomes visible later is not skipped. trap 10."""
    async with relay(place):
        with connected(place.url) as slow, slow.transaction():
            facts.append(slow, "slow")
            facts.commit("fast", "fast")
            await left(place)
        await left(place)

    found = numbers_by_key(await records(place.bootstrap, place.log_topic))
    assert {"slow": [1], "fast": [1, 2]} == found


async def test_far_below_the_floor_the_full_scan_finds_it(
    place: Place, facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A late row below the floor's margin is found by the periodic look at the oldest row."""
    monkeypatch.setattr(relay_module, "FLOOR_MARGIN", 0)
    monkeypatch.setattr(relay_module, "RESCAN_SECONDS", 0.5)
    async with relay(place):
        with connected(place.url) as slow, slow.transaction():
            facts.append(slow, "slow")
            facts.commit("fast")
            await left(place)
            facts.commit("fast")
            await left(place)
        await left(place)

    found = numbers_by_key(await records(place.bootstrap, place.log_topic))
    assert {"slow": [1], "fast": [1, 2]} == found


async def test_a_refused_record_is_parked_with_its_error(place: Place) -> None:
    """A record the broker refuses is set aside; its neighbours in the batch are published."""
    topic = f"{place.prefix}.commands.logs"
    put(place.url, topic, b"before", key="a")
    bad = put(place.url, topic, TOO_LARGE, key="a")
    put(place.url, topic, b"other key", key="b")

    async with relay(place):
        await left(place, bad)

    row = outbox(place.url)[0]
    assert (True, 1) == (row["parked"], row["attempts"])
    assert "MessageSizeTooLarge" in row["error"]
    assert {b"before", b"other key"} == set(await values(place, "commands.logs"))


async def test_behind_a_parked_record_its_lane_waits_and_others_flow(
    place: Place, facts: Facts
) -> None:
    """Same order key and topic wait; the key's other topics, and other keys, go out."""
    topic = f"{place.prefix}.commands.logs"
    bad = put(place.url, topic, TOO_LARGE, key="a")
    behind = put(place.url, topic, b"behind", key="a")
    put(place.url, f"{place.prefix}.commands.metrics", b"other topic", key="a")
    facts.commit("a", "b")

    async with relay(place):
        await left(place, bad, behind)
        later = put(place.url, topic, b"behind too", key="a")
        put(place.url, topic, b"other key", key="b")
        await left(place, bad, behind, later)

    assert [b"other key"] == await values(place, "commands.logs")
    assert [b"other topic"] == await values(place, "commands.metrics")
    log = numbers_by_key(await records(place.bootstrap, place.log_topic))
    assert {"a": [1], "b": [1]} == log


async def test_retry_publishes_the_lane_in_order(place: Place) -> None:
    """After the cause is gone, a retried row goes out, and what waited follows it."""
    topic = f"{place.prefix}.commands.logs"
    bad = put(place.url, topic, TOO_LARGE, key="a")
    put(place.url, topic, b"behind", key="a")
    async with relay(place), await connect(place.url, "outbox_relay") as connection:
        await _parked(place, attempts=1)
        with connected(place.url) as owner:
            owner.execute(
                "update caseops.outbox set value = 'smaller' where position = %s", (bad,)
            )

        assert await retry(connection, bad, "ops")
        await left(place)

    found = await values(place, "commands.logs")
    assert [b"smaller", b"behind"] == [value for value in found if value != TOO_LARGE]


async def test_retry_of_a_row_that_is_still_refused_parks_it_again(place: Place) -> None:
    """Each refusal counts as an attempt; the lane stays closed."""
    topic = f"{place.prefix}.commands.logs"
    bad = put(place.url, topic, TOO_LARGE, key="a")
    async with relay(place), await connect(place.url, "outbox_relay") as connection:
        await _parked(place, attempts=1)
        await retry(connection, bad, "ops")
        await _parked(place, attempts=2)


async def test_skip_drops_a_parked_command_and_says_who(place: Place) -> None:
    """A skipped command is gone, what waited behind it flows, and the log names the operator."""
    topic = f"{place.prefix}.commands.logs"
    bad = put(place.url, topic, TOO_LARGE, key="a")
    put(place.url, topic, b"behind", key="a")
    async with relay(place), await connect(place.url, "outbox_relay") as connection:
        await _parked(place, attempts=1)
        with structlog.testing.capture_logs() as lines:
            assert await skip(connection, bad, "ops")
        await left(place)

    (line,) = [line for line in lines if line["event"] == "outbox_row_skipped"]
    assert ("ops", bad, True) == (line["who"], line["position"], line["done"])
    assert [b"behind"] == await values(place, "commands.logs")


async def test_a_refused_fact_is_parked_and_never_skipped(
    place: Place, facts: Facts
) -> None:
    """A refused fact blocks its key on that topic until an operator retries it."""
    with connected(place.url) as connection:
        facts.append(connection, "a", "a")
        connection.execute("update caseops.outbox set topic = topic || '.missing'")
        connection.execute("update caseops.events set data = 'x'")
    topic = f"{place.prefix}.events.missing"
    await create_topics(place.bootstrap, {topic: {"max.message.bytes": "100"}})
    async with relay(place), await connect(place.url, "outbox_relay") as operator:
        await _parked(place, attempts=1)
        position, behind = (row["position"] for row in outbox(place.url))

        with pytest.raises(WrongInput) as refused:
            await skip(operator, position, "ops")
        await _allow(place.bootstrap, topic)
        assert await retry(operator, position, "ops")
        await left(place)

    assert "OUTBOX_LOG_ROW" == refused.value.code
    assert position < behind
    assert ["1", "2"] == [
        dict(record.headers)["ce_streamversion"].decode()
        for record in await records(place.bootstrap, topic)
    ]


async def _allow(bootstrap: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    resource = ConfigResource(
        ConfigResourceType.TOPIC, topic, {"max.message.bytes": "9000"}
    )
    await admin.alter_configs([resource])
    await admin.close()


async def test_rows_are_listed_for_people(place: Place, facts: Facts) -> None:
    """The list shows parked rows first, with their error, age and size."""
    facts.commit("a")
    bad = put(place.url, f"{place.prefix}.commands.logs", b"12345", key="a")
    with connected(place.url) as owner:
        owner.execute(
            "update caseops.outbox set parked_at = now(), error = 'E', attempts = 1"
            " where position = %s",
            (bad,),
        )

    async with await connect(place.url, "reader") as connection:
        listed = await list_rows(connection)

    assert [("command", "a", 5, "E"), ("log", "a", 8, None)] == [
        (row["kind"], row["key"], row["bytes"], row["error"]) for row in listed
    ]
    assert all(row["age_seconds"] >= 0 for row in listed)


async def test_an_unknown_topic_is_a_refusal_after_a_while(
    place: Place, facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a topic that does not exist are parked; until then and after, others flow."""
    monkeypatch.setattr(delivery, "LOOKUPS", 3)
    missing = put(place.url, f"{place.prefix}.missing", b"x", key="a")
    behind = put(place.url, f"{place.prefix}.missing", b"y", key="a")
    facts.commit("a")

    async with relay(place):
        await left(place, missing, behind)
        await _parked(place, attempts=1)
        facts.commit("a")
        await left(place, missing, behind)

    assert "UnknownTopicOrPartition" in outbox(place.url)[0]["error"]
    found = numbers_by_key(await records(place.bootstrap, place.log_topic))
    assert {"a": [1, 2]} == found


async def test_a_topic_that_appears_in_time_is_no_refusal(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic created while the relay asks for it gets its rows, in order."""
    topic = f"{place.prefix}.commands.changes"
    put(place.url, topic, b"1", key="a")
    put(place.url, topic, b"2", key="a")
    monkeypatch.setattr(delivery, "LOOKUPS", 100)
    async with relay(place):
        await create_topics(place.bootstrap, {topic: {}})
        await left(place)

    assert [b"1", b"2"] == await values(place, "commands.changes")


async def test_broken_headers_park_their_row(place: Place) -> None:
    """A row that cannot become a record is parked; the one behind another key goes out."""
    topic = f"{place.prefix}.commands.metrics"
    bad = put(place.url, topic, b"x", key="a")
    with connected(place.url) as owner:
        owner.execute('update caseops.outbox set headers = \'[["x", "%"]]\'')
    put(place.url, topic, b"good", key="b")

    async with relay(place):
        await left(place, bad)

    assert [b"good"] == await values(place, "commands.metrics")


async def test_large_rows_do_not_wait_for_each_other(place: Place, facts: Facts) -> None:
    """Rows beyond one batch of a partition follow in further rounds, in order."""
    with connected(place.url) as connection:
        facts.append(connection, *["a"] * 40)
        connection.execute(
            "update caseops.events set data = convert_to(json_build_object("
            "'n', sequence, 'x', repeat('x', 200000))::text, 'UTF8')"
        )

    async with relay(place):
        await left(place)

    found = numbers_by_key(await records(place.bootstrap, place.log_topic))
    assert {"a": list(range(1, 41))} == found


async def test_a_log_ahead_of_the_database_stops_the_relay(
    place: Place, facts: Facts
) -> None:
    """An event on the log that the store does not know means a restored database: stop."""
    facts.commit("a", "b")
    async with relay(place):
        await left(place)
    with connected(place.url) as owner:
        owner.execute("delete from caseops.events where key = 'a'")
    waiting = put(place.url, f"{place.prefix}.commands.metrics", b"x")

    with pytest.raises(MustStop) as stopped:
        await run(place, asyncio.Event(), RelayHealth())

    assert "LOG_AHEAD" == stopped.value.code
    assert [waiting] == [row["position"] for row in outbox(place.url)]


async def test_a_strangers_record_on_the_log_stops_nobody(
    place: Place, facts: Facts
) -> None:
    """Junk that somebody wrote to the log topic is not taken for a newer log."""
    put(place.url, place.log_topic, b"junk", key="a")
    async with relay(place):
        await left(place)

    facts.commit("a")
    async with relay(place):
        await left(place)


async def test_health_follows_the_work(place: Place) -> None:
    """The relay is ready once it has looked, and no longer when it has stopped."""
    async with relay(place) as health:

        async def ready() -> None:
            assert health.ready

        await eventually(ready)

    assert not health.ready
    assert health.seconds_since_progress() < 60


async def _parked(place: Place, *, attempts: int) -> None:
    async def parked() -> None:
        row: dict[str, Any] = outbox(place.url)[0]
        assert (True, attempts) == (row["parked"], row["attempts"])

    await eventually(parked)
