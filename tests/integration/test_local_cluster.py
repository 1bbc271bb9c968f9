"""The local Kafka and PostgreSQL: data outlives kills, processes never outlive a stop."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from infra import processes
from infra.errors import DependencyAway
from infra.kafka.cluster import KafkaCluster
from infra.postgres.server import PostgresServer
from tests.support.eventually import eventually

TOPIC = "kept"


async def make_topic(bootstrap: str, replication: int) -> None:
    """Create the topic of these tests, of one partition."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(TOPIC, 1, replication)])
    finally:
        await admin.close()


async def produce(bootstrap: str, *values: bytes) -> None:
    """Publish *values*; each is acknowledged by all replicas in sync."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        for value in values:
            await producer.send_and_wait(TOPIC, value)


async def consume(bootstrap: str, count: int) -> list[bytes]:
    """Return the first *count* values of the topic."""
    consumer = AIOKafkaConsumer(
        TOPIC, bootstrap_servers=bootstrap, auto_offset_reset="earliest"
    )
    async with consumer, asyncio.timeout(20):
        return [(await consumer.getone()).value for _ in range(count)]


async def execute(url: str, statement: str) -> Any:
    """Return the first row of *statement*, None when it has none."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        cursor = await connection.execute(statement)
        return await cursor.fetchone() if cursor.description else None


async def test_kafka_keeps_records_through_a_kill(data_folder: Path) -> None:
    """What was acknowledged before kill -9 is read after the next start, same address."""
    cluster = KafkaCluster(data_folder / "kafka")
    await cluster.start()
    address = cluster.bootstrap
    await make_topic(address, 1)
    await produce(address, b"before")

    await cluster.kill(1)
    await cluster.restart(1)
    await produce(address, b"after")
    found = await consume(cluster.bootstrap, 2)

    assert ([b"before", b"after"], address) == (found, cluster.bootstrap)


async def test_kafka_takes_a_value_of_one_mebibyte(data_folder: Path) -> None:
    """A record of 1 MiB is not refused by the broker."""
    cluster = KafkaCluster(data_folder / "kafka")
    await cluster.start()
    await make_topic(cluster.bootstrap, 1)
    value = b"x" * 1024 * 1024
    producer = AIOKafkaProducer(
        bootstrap_servers=cluster.bootstrap, max_request_size=2 * 1024 * 1024
    )
    async with producer:
        await producer.send_and_wait(TOPIC, value)

    assert [value] == await consume(cluster.bootstrap, 1)


async def test_a_running_kafka_is_adopted(data_folder: Path) -> None:
    """A second start, from whatever process, finds the broker and leaves it alone."""
    await KafkaCluster(data_folder / "kafka").start()
    before = KafkaCluster(data_folder / "kafka").pids

    await asyncio.gather(*(KafkaCluster(data_folder / "kafka").start() for _ in range(3)))

    assert before == KafkaCluster(data_folder / "kafka").pids


async def test_kafka_moves_when_its_ports_are_taken(data_folder: Path) -> None:
    """When others took both ports the node comes back elsewhere, with its records."""
    cluster = KafkaCluster(data_folder / "kafka")
    await cluster.start()
    address = cluster.bootstrap
    await make_topic(address, 1)
    await produce(address, b"kept")
    await cluster.stop()
    (node,) = json.loads((data_folder / "kafka" / "cluster.json").read_text())["nodes"]
    others = [
        await asyncio.start_server(lambda *_: None, "127.0.0.1", node[port])
        for port in ("client_port", "controller_port")
    ]

    await cluster.start()
    found = await consume(cluster.bootstrap, 1)
    for other in others:
        other.close()

    assert ([b"kept"], True) == (found, address != cluster.bootstrap)


async def test_three_nodes_lose_one_and_nothing_else(three_nodes: KafkaCluster) -> None:
    """With one node of three killed, records are still taken, and it takes part again."""
    await make_topic(three_nodes.bootstrap, 3)
    await produce(three_nodes.bootstrap, b"three")

    await three_nodes.kill(2)
    await produce(three_nodes.bootstrap, b"two")
    running = len(three_nodes.pids)
    await three_nodes.restart(2)
    found = await consume(three_nodes.bootstrap, 2)

    assert ([b"three", b"two"], 2, 3) == (found, running, len(three_nodes.pids))


async def test_postgres_keeps_rows_through_a_kill(data_folder: Path) -> None:
    """What was committed before kill -9 is there after the next start, same address."""
    server = PostgresServer(data_folder / "postgres")
    await server.start()
    url = server.url
    await execute(url, "create table kept as select 1 as n")

    await server.kill()
    await server.start()

    assert ((1,), url) == (await execute(url, "select n from kept"), server.url)


async def test_postgres_is_set_up_for_us(data_folder: Path) -> None:
    """UTC, enough connections, commits on disk, and texts in code point order."""
    server = PostgresServer(data_folder / "postgres")
    await server.start()

    found = await execute(
        server.url,
        "select current_setting('timezone'), current_setting('max_connections'),"
        " current_setting('fsync'), current_setting('synchronous_commit'), 'Z' < 'a'",
    )

    assert found == ("UTC", "200", "on", "on", True)


async def test_postgres_asks_for_the_password(data_folder: Path) -> None:
    """Nobody without the password, which only its owner can read, gets in."""
    server = PostgresServer(data_folder / "postgres")
    await server.start()
    wrong = server.url.replace("caseops:", "caseops:wrong", 1)

    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        await execute(wrong, "select 1")
    assert (data_folder / "postgres" / "password").stat().st_mode & 0o777 == 0o600


async def test_a_forgotten_postgres_is_replaced(data_folder: Path) -> None:
    """A server whose process file is lost is found by its own lock file and stopped."""
    server = PostgresServer(data_folder / "postgres")
    await server.start()
    first = server.pid
    (data_folder / "postgres" / "process.json").unlink()

    await server.start()

    assert first is not None
    assert (None, True) == (processes.start_mark(first), server.pid not in {None, first})


async def test_a_stale_lock_of_somebody_else(data_folder: Path) -> None:
    """When the id in a left-over lock file is now another process, that one lives on."""
    server = PostgresServer(data_folder / "postgres")
    await server.start()
    await server.kill()
    lock = data_folder / "postgres" / "pgdata" / "postmaster.pid"
    rest = lock.read_text().partition("\n")[2]
    lock.write_text(f"{os.getppid()}\n{rest}")
    processes.Process(os.getpid(), "long ago").save(
        data_folder / "postgres" / "process.json"
    )

    await server.start()

    assert (1,) == await execute(server.url, "select 1")


async def test_root_only_folders_send_postgres_elsewhere(tmp_path: Path) -> None:
    """Where the server's user cannot go, its data lies elsewhere and a file says where."""
    tmp_path.chmod(0o700)
    said: list[str] = []
    server = PostgresServer(tmp_path / "postgres", on_progress=said.append)
    try:
        await server.start()
        await server.restart()

        assert (1,) == await execute(server.url, "select 1")
        assert len(said) == (1 if processes.is_root() else 0)
    finally:
        await server.stop()
        remove_shelter(tmp_path / "postgres" / "elsewhere")


def remove_shelter(pointer: Path) -> None:
    """Remove the folder that *pointer* names, if there is one."""
    if pointer.exists():
        subprocess.run(["rm", "-rf", "--", pointer.read_text().strip()], check=True)


async def test_a_server_that_cannot_start_says_so(data_folder: Path) -> None:
    """A broken data folder ends in one error with a place to look, and no process."""
    server = PostgresServer(data_folder / "postgres")
    await server.start()
    await server.stop()
    (data_folder / "postgres" / "pgdata" / "PG_VERSION").write_text("9")

    with pytest.raises(DependencyAway, match="DATABASE_AWAY"):
        await server.start()
    assert server.pid is None


async def test_a_cluster_that_cannot_start_says_so(data_folder: Path) -> None:
    """A broken data folder ends in one error with a place to look, and no process."""
    cluster = KafkaCluster(data_folder / "kafka")
    await cluster.start()
    await cluster.stop()
    (data_folder / "kafka" / "node-1" / "data" / "meta.properties").write_text("version=9")

    with pytest.raises(DependencyAway, match="KAFKA_AWAY"):
        await cluster.start()
    assert cluster.pids == []


async def test_a_database_is_at_the_current_schema(database: str) -> None:
    """The database of a test is a copy of the migrated template."""
    found = await execute(database, "select to_regclass('caseops.events') is not null")

    assert found == (True,)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_nothing_outlives_a_test_run(end: signal.Signals, tmp_path: Path) -> None:
    """Whatever ends a test run, its guard stops what it started and clears up."""
    code = (
        "import sys, time; from tests.support import stack; from infra import processes\n"
        "with stack.data_folder() as folder:\n"
        "    sleep = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "    started = processes.start(sleep, log=folder / 'log')\n"
        "    started.save(folder / 'process.json')\n"
        "    print(started.pid, folder, flush=True)\n"
        "    time.sleep(600)\n"
    )
    run = processes.start([sys.executable, "-c", code], log=tmp_path / "log")

    async def said() -> None:
        assert len((tmp_path / "log").read_text().split()) == 2

    async def cleared() -> None:
        assert not Path(folder).exists()
        assert processes.start_mark(int(pid)) is None

    await eventually(said)
    pid, folder = (tmp_path / "log").read_text().split()
    processes.send(run, end)
    await eventually(cleared)
