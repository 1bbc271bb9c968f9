"""Each service as its own process: a plain client in, a plain group out, any one killed."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from caseops.groups import ALL
from infra.kafka.cluster import KafkaCluster
from tests.support import stack
from tests.support.case_folders import payment_case
from tests.support.records import RawRecord, alert_record
from tests.support.separate import Separate, separate_services
from tests.support.system import System

SEED = 20260723


class Plant:
    """Separate processes, and a plain client beside them."""

    def __init__(self, separate: Separate, client: System, folder: Path) -> None:
        self.separate = separate
        self.client = client
        self.folder = folder

    async def alert(self, environment: str) -> None:
        """Publish one alert about the case folder."""
        await self.client.publish([_alert(environment, self.folder)])

    async def completions(self) -> Counter[str]:
        """Return how many completion events each environment has."""
        found = [
            json.loads(record.value) for record in await self.client.topic("completions")
        ]
        return Counter(data["environment"] for data in found)


def _alert(environment: str, folder: Path) -> RawRecord:
    return alert_record(
        0,
        identity=environment,
        fingerprint=environment,
        environment=environment,
        starts_at="2026-07-23T02:02:00Z",
        window_start="2026-07-23T01:45:00Z",
        window_end="2026-07-23T02:10:00Z",
        case_folder=str(folder),
    )


@pytest.fixture(scope="module")
async def plant(
    kafka_bootstrap: str,
    postgres_url: str,
    database_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Plant]:
    """Give nine service processes over one Kafka and one PostgreSQL."""
    folder = tmp_path_factory.mktemp("separate")
    case = payment_case(folder / "case")
    prefix = stack.unique_prefix()
    async with (
        stack.new_database(postgres_url, database_template) as url,
        separate_services(kafka_bootstrap, url, prefix, folder) as separate,
    ):
        yield Plant(separate, System(kafka_bootstrap, url, prefix, folder), case)


async def test_a_plain_client_in_and_a_plain_group_out(plant: Plant) -> None:
    """SHAPE-06, SHAPE-08: nothing of ours is needed on either side."""
    await plant.alert("plain")
    consumer = AIOKafkaConsumer(
        f"{plant.client.prefix}.completions",
        bootstrap_servers=plant.client.bootstrap,
        group_id="anybody",
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        record: Any = await asyncio.wait_for(consumer.getone(), 60)
    finally:
        await consumer.stop()

    headers = {name: raw.decode() for name, raw in record.headers}
    assert "dev.caseops.incident.completed.v1" == headers["ce_type"]
    assert "plain" == json.loads(record.value)["environment"]


@pytest.mark.slow
@pytest.mark.parametrize("victim", ALL)
async def test_any_one_service_killed_at_any_time(plant: Plant, victim: str) -> None:
    """A kill -9, then a restart: the run completes, with one completion (SHAPE-02)."""
    moment = Random(f"{SEED}/{victim}").uniform(0.0, 0.6)
    name = f"killed-{victim}"
    await plant.alert(name)
    await asyncio.sleep(moment)
    await plant.separate.kill(victim)
    await plant.separate.start(victim)

    done = await plant.client.completion(name, seconds=60)
    assert "completed" == done["status"]
    assert 1 == (await plant.completions())[name]


@pytest.mark.slow
async def test_the_same_on_three_nodes(
    three_nodes: KafkaCluster,
    database: str,
    topic_prefix: str,
    tmp_path: Path,
) -> None:
    """Replication 3, min.insync 2; the leader of everything dies while the run is under way."""
    case = payment_case(tmp_path / "case")
    bootstrap = three_nodes.bootstrap
    async with separate_services(
        bootstrap, database, topic_prefix, tmp_path, replication=3
    ) as separate:
        client = System(bootstrap, database, topic_prefix, tmp_path)
        plant = Plant(separate, client, case)
        await plant.alert("three")
        await three_nodes.kill(2)
        done = await client.completion("three", seconds=60)
        await three_nodes.restart(2)

    assert "completed" == done["status"]
