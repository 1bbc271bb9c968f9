"""One Kafka and one PostgreSQL for a test run, and what single tests get of them."""

import asyncio
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from infra.kafka.cluster import KafkaCluster
from infra.migrate import upgrade
from infra.postgres.server import PostgresServer

KAFKA = "CASEOPS_TEST_KAFKA_BOOTSTRAP"
DATABASE = "CASEOPS_TEST_DATABASE_URL"
DOCKER = "CASEOPS_TEST_DOCKER"


@contextmanager
def data_folder() -> Iterator[Path]:
    """Give a folder for a local stack; whatever still runs in it at the end is stopped.

    Every user can reach it (root's PostgreSQL runs as another user), which pytest's own
    temporary folders do not offer. A guard outside this process cleans up as well when the
    test run is killed.
    """
    folder = Path(tempfile.mkdtemp(prefix="caseops-test-")).resolve()
    folder.chmod(0o755)
    guard = subprocess.Popen(
        [sys.executable, "-m", "tests.support.stack_guard", str(folder)],
        stdin=subprocess.PIPE,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        yield folder
    finally:
        guard.communicate()
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def kafka() -> AsyncIterator[str]:
    """Give the bootstrap address of the Kafka of this run."""
    if given := os.environ.get(KAFKA):
        yield given
    elif os.environ.get(DOCKER) == "1":
        from testcontainers.community.kafka import KafkaContainer  # noqa: PLC0415 - slow

        container = KafkaContainer().with_kraft()
        container.with_env("KAFKA_AUTO_CREATE_TOPICS_ENABLE", "false")
        with container as started:
            yield started.get_bootstrap_server()
    else:
        async with local_kafka(nodes=1) as cluster:
            yield cluster.bootstrap


@asynccontextmanager
async def local_kafka(*, nodes: int) -> AsyncIterator[KafkaCluster]:
    """Give a running local cluster of its own, of one node or three."""
    with data_folder() as folder:
        cluster = KafkaCluster(folder / "kafka", nodes=nodes, on_progress=print)
        await cluster.start()
        try:
            yield cluster
        finally:
            await cluster.stop()


@asynccontextmanager
async def postgres() -> AsyncIterator[str]:
    """Give the URL of a database whose owner may create others."""
    if given := os.environ.get(DATABASE):
        yield given
    elif os.environ.get(DOCKER) == "1":
        from testcontainers.community.postgres import PostgresContainer  # noqa: PLC0415 - slow

        with PostgresContainer("postgres:18", username="caseops", driver=None) as started:
            yield started.get_connection_url()
    else:
        with data_folder() as folder:
            server = PostgresServer(folder / "postgres", on_progress=print)
            await server.start()
            try:
                yield server.url
            finally:
                await server.stop()


@asynccontextmanager
async def migrated_template(url: str) -> AsyncIterator[str]:
    """Give the name of a database brought to the current schema, to be copied from."""
    async with new_database(url) as fresh:
        await asyncio.to_thread(upgrade, fresh)
        yield str(conninfo_to_dict(fresh)["dbname"])


@asynccontextmanager
async def new_database(url: str, template: str = "template1") -> AsyncIterator[str]:
    """Give the URL of a new database beside the one at *url*, a copy of *template*."""
    name = sql.Identifier(f"caseops_test_{secrets.token_hex(6)}")
    create = sql.SQL("create database {} template {}").format(
        name, sql.Identifier(template)
    )
    drop = sql.SQL("drop database {} with (force)").format(name)
    await _execute(url, create)
    try:
        yield url.rpartition("/")[0] + "/" + name.as_string().strip('"')
    finally:
        await _execute(url, drop)


async def _execute(url: str, statement: sql.Composed) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(statement)


def unique_prefix() -> str:
    """Return a topic prefix no other test uses."""
    return f"test-{secrets.token_hex(6)}"
