"""Forty runs in flight while the relay is killed again and again and PostgreSQL restarts."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from caseops import stack
from caseops.conservation import audit
from caseops.groups import ALL, READERS
from infra import database, processes
from infra.accounts import accounts
from infra.kafka.offsets import bounds
from infra.postgres.server import PostgresServer
from tests.support import s1_script as s1
from tests.support.eventually import eventually
from tests.support.records import RawRecord, alert_headers
from tests.support.scripted import Company
from tests.support.system import System, a_system

RUNS = 40
KILLS = 3


@asynccontextmanager
async def killable_relay(system: System) -> AsyncIterator[list[processes.Process]]:
    """Give a relay process of its own; the last of the list is the one that runs."""
    started = [_relay(system)]
    try:
        yield started
    finally:
        await processes.stop(started[-1])


def _relay(system: System) -> processes.Process:
    return stack.start_process(
        system.data_dir,
        "relay",
        ("outbox_relay",),
        kafka_bootstrap=system.bootstrap,
        database_url=system.url,
        topic_prefix=system.prefix,
        log_level="WARNING",
    )


@pytest.mark.slow
async def test_every_run_completes_once_and_every_record_is_accounted_for(
    kafka_bootstrap: str, data_folder: Path, topic_prefix: str
) -> None:
    """One poison record in five; no loss, no double, conservation holds (design §17)."""
    company = Company()
    server = PostgresServer(data_folder / "postgres")
    await server.start()
    async with a_system(
        kafka_bootstrap,
        server.url,
        topic_prefix,
        data_folder,
        catalogue=company.catalogue(),
    ) as system:
        await system.start(*(name for name in ALL if name != "outbox_relay"))
        async with killable_relay(system) as relay:
            names = [f"storm-{number}" for number in range(RUNS)]
            await _publish(system, company, names)
            for _ in range(KILLS):
                await asyncio.sleep(1.0)
                await processes.kill(relay[-1])
                relay.append(_relay(system))
            await server.restart()
            await _all_complete(system, names)
            await _nothing_unaccounted(system)
    await server.stop()


async def _publish(system: System, company: Company, names: list[str]) -> None:
    script = await s1.script(system.url)
    records: list[RawRecord] = []
    for number, name in enumerate(names):
        company.scripts[name] = script
        records += s1.alerts(name, name)
        if number % 5 == 0:
            poison = RawRecord(
                "caseops.alerts", 0, 0, b"k", b"{", alert_headers(f"p-{name}")
            )
            records.append(poison)
    await system.publish(records)


async def _all_complete(system: System, names: list[str]) -> None:
    async def once_each() -> None:
        done = [json.loads(record.value) for record in await system.topic("completions")]
        assert dict.fromkeys(names, 1) == Counter(data["environment"] for data in done)

    await eventually(once_each, seconds=90)


async def _nothing_unaccounted(system: System) -> None:
    async def settled() -> None:
        topics = [f"{system.prefix}.{topic}" for topic in READERS]
        ends = await bounds(system.bootstrap, topics)
        connection = await database.connect(system.url, "reader")
        try:
            found = audit(system.prefix, READERS, ends, await accounts(connection))
        finally:
            await connection.close()
        assert {(0, 0)} == {
            (each["unaccounted"], each["waiting"]) for each in found.values()
        }
        assert RUNS // 5 == found[f"{system.prefix}.alerts"]["dead_letters"]

    await eventually(settled, seconds=30)
