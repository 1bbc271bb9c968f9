"""Fixtures: the stack of a test run, and each test's own part of it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from infra.kafka.cluster import KafkaCluster
from tests.support import stack


@pytest.fixture(scope="session")
async def kafka_bootstrap() -> AsyncIterator[str]:
    """Give the bootstrap address of the one Kafka of this run."""
    async with stack.kafka() as bootstrap:
        yield bootstrap


@pytest.fixture(scope="session")
async def postgres_url() -> AsyncIterator[str]:
    """Give the URL of the one PostgreSQL of this run; tests want `database` instead."""
    async with stack.postgres() as url:
        yield url


@pytest.fixture(scope="session")
async def database_template(postgres_url: str) -> AsyncIterator[str]:
    """Give the name of the migrated database that `database` copies."""
    async with stack.migrated_template(postgres_url) as name:
        yield name


@pytest.fixture
async def database(postgres_url: str, database_template: str) -> AsyncIterator[str]:
    """Give the URL of a database of this test's own, empty and at the current schema."""
    async with stack.new_database(postgres_url, database_template) as url:
        yield url


@pytest.fixture
def topic_prefix() -> str:
    """Give a topic prefix of this test's own."""
    return stack.unique_prefix()


@pytest.fixture
def data_folder() -> Iterator[Path]:
    """Give a folder in which a local stack can run; it is stopped and removed after."""
    with stack.data_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
async def three_nodes() -> AsyncIterator[KafkaCluster]:
    """Give a running cluster of three nodes that this module may harm."""
    async with stack.local_kafka(nodes=3) as cluster:
        yield cluster
