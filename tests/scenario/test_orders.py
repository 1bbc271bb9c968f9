"""Thirty delivery orders on Apache Kafka, with duplicates: one and the same completion."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests.support import s1_script as s1
from tests.support.eventually import eventually
from tests.support.scripted import Company, Script
from tests.support.system import System, a_system

ORDERS = 30
SEED = 4711
SPECIALISTS = ("logs", "metrics", "changes")


async def test_thirty_orders_end_in_the_same_completion(
    kafka_bootstrap: str, database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """Alerts and results in any order, each message up to three times (S1-e, JOIN-09)."""
    company = Company()
    async with a_system(
        kafka_bootstrap, database, topic_prefix, tmp_path, catalogue=company.catalogue()
    ) as system:
        await system.start()
        names = [f"order-{number}" for number in range(ORDERS)]
        await asyncio.gather(*(_play(system, company, name) for name in names))
        await _all_complete(system, names)
        await _again(system)
        await _all_complete(system, names)
        records = await system.topic("completions")

    done = [json.loads(record.value) for record in records]
    assert dict.fromkeys(names, 1) == Counter(data["environment"] for data in done)
    assert 1 == len({_without_ids(data) for data in done})


async def _play(system: System, company: Company, name: str) -> None:
    random = Random(f"{SEED}/{name}")
    script = await s1.script(system.url)
    script.hold(*SPECIALISTS)
    company.scripts[name] = script
    alerts = [each for each in s1.alerts(name, name) for _ in range(random.randint(1, 3))]
    random.shuffle(alerts)
    await system.publish(alerts)
    await _answer_in_order(script, random)


async def _answer_in_order(script: Script, random: Random) -> None:
    for specialist in random.sample(SPECIALISTS, len(SPECIALISTS)):
        await asyncio.sleep(random.uniform(0, 0.5))
        script.release(specialist)


async def _all_complete(system: System, names: list[str]) -> None:
    async def all_there() -> None:
        done = [json.loads(record.value) for record in await system.topic("completions")]
        assert set(names) == {data["environment"] for data in done}

    await eventually(all_there, seconds=60)


async def _again(system: System) -> None:
    """Deliver everything on the log and the command topics a second time, shuffled."""
    records: list[Any] = list(await system.topic("events"))
    for specialist in SPECIALISTS:
        records += await system.topic(f"commands.{specialist}")
    Random(SEED).shuffle(records)
    await system.publish(records)


def _without_ids(data: dict[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True)
    for name in ("run_id", "case_id", "environment", "deadline_at"):
        text = text.replace(json.dumps(data[name]), f'"{name}"')
    return text
