"""The relay under loss: killed processes, lost connections, several relays, broker restarts."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import ExitStack

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from prometheus_client import REGISTRY

from infra.kafka.cluster import KafkaCluster
from outbox_relay.app import Place
from outbox_relay.slices import LOCK_CLASS, PRESENCE, SLICES
from tests.support import stack
from tests.support.eventually import eventually
from tests.support.outbox_rows import (
    Facts,
    connected,
    create_topics,
    first_seen,
    numbers_by_key,
    outbox,
    put,
    records,
    relay,
)
from tests.support.relay_process import relay_process

KEYS = tuple(f"run-{number}" for number in range(40))
OWNERS = """
select pid, count(*) from pg_locks where locktype = 'advisory' and classid = %s
   and objid <> %s and granted
   and database = (select oid from pg_database where datname = current_database()) group by pid
"""


@pytest.fixture
async def place(database: str, kafka_bootstrap: str, topic_prefix: str) -> Place:
    """Give an empty outbox and its topics."""
    return await with_topics(Place(database, kafka_bootstrap, topic_prefix))


async def with_topics(place: Place, *, replication: int = 1) -> Place:
    """Create the topics of *place*."""
    topics: dict[str, dict[str, str]] = {
        place.log_topic: {},
        f"{place.prefix}.commands.logs": {},
    }
    await create_topics(place.bootstrap, topics, replication=replication)
    return place


async def emptied(place: Place, seconds: float = 60) -> None:
    """Wait until everything is published."""

    async def nothing_left() -> None:
        assert [] == outbox(place.url)[:3]

    await eventually(nothing_left, seconds=seconds)


async def in_order_and_complete(place: Place, facts: Facts) -> None:
    """Assert that each key's facts are on the log, all of them, none overtaken."""
    found = numbers_by_key(await records(place.bootstrap, place.log_topic))
    seen = {key: first_seen(numbers) for key, numbers in found.items()}

    assert {key: list(range(1, last + 1)) for key, last in facts.last.items()} == seen


def owners(place: Place) -> dict[int, int]:
    """Return how many slices each connection owns."""
    with connected(place.url) as connection:
        return dict(connection.execute(OWNERS, (LOCK_CLASS, PRESENCE)).fetchall())


async def shared_by(place: Place, relays: int) -> list[int]:
    """Wait until *relays* relays own all slices, each its fair share; return their pids."""

    async def fair() -> None:
        assert [SLICES // relays] * relays == list(owners(place).values())

    await eventually(fair)
    return list(owners(place))


async def test_a_kill_between_send_and_delete_only_repeats(place: Place) -> None:
    """What a killed relay had sent and not deleted is sent again, same ids, in order. EVT-05."""
    facts = Facts(place.url, place.prefix)
    for dies_before_delete in (1, 2, 3):
        for _ in range(3):
            facts.commit(*KEYS)
        with relay_process(place, dies_before_delete=dies_before_delete) as process:
            while process.poll() is None:
                facts.commit(*KEYS[:5])
                await asyncio.sleep(0.02)
    async with relay(place):
        await emptied(place)

    await in_order_and_complete(place, facts)
    published = len(await records(place.bootstrap, place.log_topic))
    assert published > sum(facts.last.values())


async def test_relays_share_the_slices_fairly(place: Place) -> None:
    """Two relays own half of the slices each; one that comes later gets its part."""
    async with relay(place):
        await shared_by(place, 1)
        async with relay(place):
            await shared_by(place, 2)
        await shared_by(place, 1)


async def test_relays_side_by_side_publish_each_row_once(place: Place) -> None:
    """While relays join and leave, no slice is ever in two hands: nothing is sent twice."""
    facts = Facts(place.url, place.prefix)
    async with relay(place):
        await shared_by(place, 1)
        async with relay(place), relay(place):
            while len(owners(place)) < 3:
                facts.commit(*KEYS)
                await asyncio.sleep(0.01)
            for _ in range(20):
                facts.commit(*KEYS)
        await emptied(place)

    await in_order_and_complete(place, facts)
    published = len(await records(place.bootstrap, place.log_topic))
    assert sum(facts.last.values()) == published


@pytest.mark.slow
async def test_several_relays_never_interleave_a_key(place: Place) -> None:
    """With relays that come and go by kill -9, no fact overtakes another of its key. EVT-05."""
    facts = Facts(place.url, place.prefix)
    with ExitStack() as relays:
        processes = [relays.enter_context(relay_process(place)) for _ in range(3)]
        await _commit_while(facts, processes)
        async with relay(place):
            await emptied(place)

    await in_order_and_complete(place, facts)


async def _commit_while(facts: Facts, processes: list[subprocess.Popen[bytes]]) -> None:
    for number in range(300):
        facts.commit(*KEYS)
        await asyncio.sleep(0.01)
        if number in (200, 250):
            processes[number // 50 - 4].kill()


async def test_a_lost_connection_moves_the_slices(place: Place) -> None:
    """A relay whose database connection is cut loses its slices; others take over, none is lost."""
    facts = Facts(place.url, place.prefix)
    async with relay(place), relay(place):
        for pid in await shared_by(place, 2):
            facts.commit(*KEYS)
            with connected(place.url) as connection:
                connection.execute("select pg_terminate_backend(%s)", (pid,))
            facts.commit(*KEYS)
        await shared_by(place, 2)
        await emptied(place)

    await in_order_and_complete(place, facts)


@pytest.fixture
async def own_kafka() -> AsyncIterator[KafkaCluster]:
    """Give a one-node cluster that the test may harm."""
    async with stack.local_kafka(nodes=1) as cluster:
        yield cluster


async def test_a_broker_restart_loses_nothing(
    database: str, own_kafka: KafkaCluster, topic_prefix: str
) -> None:
    """While the broker is killed and restarted, facts keep coming; all arrive, in order. DRILL-22."""
    place = await with_topics(Place(database, own_kafka.bootstrap, topic_prefix))
    facts = Facts(place.url, place.prefix)
    async with relay(place):
        for _ in range(2):
            await _commit_through(facts, own_kafka)
        await emptied(place)

    await in_order_and_complete(place, facts)


async def _commit_through(facts: Facts, cluster: KafkaCluster) -> None:
    for _ in range(10):
        facts.commit(*KEYS)
        await asyncio.sleep(0.01)
    await cluster.kill(1)
    for _ in range(10):
        facts.commit(*KEYS)
        await asyncio.sleep(0.01)
    await cluster.restart(1)


async def test_a_relay_started_without_a_broker_waits_for_it(
    database: str, own_kafka: KafkaCluster, topic_prefix: str
) -> None:
    """Kafka away at the start is waited for, and no attempt is counted."""
    place = await with_topics(Place(database, own_kafka.bootstrap, topic_prefix))
    facts = Facts(place.url, place.prefix)
    facts.commit(*KEYS)
    await own_kafka.kill(1)
    async with relay(place) as health:
        await _complained()
        assert not health.ready
        await own_kafka.restart(1)
        await emptied(place)

    await in_order_and_complete(place, facts)


async def _complained() -> None:
    def complaints() -> float:
        labels = {"error": "DependencyAway"}
        return REGISTRY.get_sample_value("caseops_relay_errors_total", labels) or 0

    before = complaints()

    async def more() -> None:
        assert complaints() > before + 1

    await eventually(more)


async def test_the_relay_stops_while_the_broker_is_away(
    database: str,
    own_kafka: KafkaCluster,
    topic_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stop does not wait for a broker: the batch stays in the outbox for the next relay."""
    monkeypatch.setattr("outbox_relay.app.STOP_SECONDS", 1.0)
    place = await with_topics(Place(database, own_kafka.bootstrap, topic_prefix))
    facts = Facts(place.url, place.prefix)
    async with relay(place):
        facts.commit(*KEYS)
        await emptied(place)
        await own_kafka.kill(1)
        facts.commit(*KEYS)
    assert len(KEYS) == len(outbox(place.url))

    await own_kafka.restart(1)
    async with relay(place):
        await emptied(place)
    await in_order_and_complete(place, facts)


async def test_a_topic_deleted_under_the_relay_is_parked_not_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a topic that was deleted are parked in the end; the log goes on."""
    monkeypatch.setattr("infra.kafka.clients.REQUEST_TIMEOUT_MS", 2000)
    monkeypatch.setattr("outbox_relay.delivery.LOOKUPS", 3)
    facts = Facts(place.url, place.prefix)
    topic = f"{place.prefix}.commands.logs"
    async with relay(place):
        put(place.url, topic, b"1", key="a")
        await emptied(place)
        admin = AIOKafkaAdminClient(bootstrap_servers=place.bootstrap)
        await admin.start()
        await admin.delete_topics([topic])
        await admin.close()
        bad = put(place.url, topic, b"2", key="a")
        facts.commit(*KEYS)

        async def parked() -> None:
            assert [(bad, True)] == [
                (r["position"], r["parked"]) for r in outbox(place.url)
            ]

        await eventually(parked, seconds=40)

    await in_order_and_complete(place, facts)


@pytest.mark.slow
async def test_a_leader_change_loses_nothing(
    database: str, three_nodes: KafkaCluster, topic_prefix: str
) -> None:
    """On three nodes the leader is killed while facts are published; order holds. DRILL-22."""
    place = Place(database, three_nodes.bootstrap, topic_prefix)
    await with_topics(place, replication=3)
    facts = Facts(place.url, place.prefix)
    async with relay(place):
        for node in (1, 2, 3):
            for _ in range(10):
                facts.commit(*KEYS)
                await asyncio.sleep(0.01)
            await three_nodes.kill(node)
            for _ in range(10):
                facts.commit(*KEYS)
                await asyncio.sleep(0.01)
            await three_nodes.restart(node)
        await emptied(place)

    await in_order_and_complete(place, facts)
