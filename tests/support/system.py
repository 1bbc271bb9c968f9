"""A whole CaseOps over real Kafka and PostgreSQL, one service at a time startable.

Tests put messages on topics and look at topics and views; nothing else is theirs.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from pydantic import SecretStr

from caseops import installation, services
from caseops.context import Context
from caseops.groups import ALL
from consumers.specialists.capabilities import CatalogueEntry
from infra.settings import Settings
from tests.support.records import RawRecord
from tests.support.store import rows

PARTITIONS = 2


@dataclass
class Running:
    """One running service."""

    task: asyncio.Task[None]
    stop: asyncio.Event
    edges: AsyncExitStack


@dataclass
class System:
    """The services of one installation, by name, and its topics."""

    bootstrap: str
    url: str
    prefix: str
    data_dir: Path
    catalogue: Mapping[str, CatalogueEntry] | None = None
    running: dict[str, Running] = field(default_factory=dict)
    lease_seconds: float = 30.0

    async def start(self, *names: str) -> None:
        """Start services (all without a name), each on edges of its own."""
        for name in names or ALL:
            edges = AsyncExitStack()
            context = Context(self._settings(), edges)
            if self.catalogue is not None:
                context.catalogue = self.catalogue
            stop = asyncio.Event()
            task = asyncio.create_task(services.run([name], context, stop))
            self.running[name] = Running(task, stop, edges)

    async def stop(self, *names: str) -> None:
        """Stop services (all without a name) in good order and surface their errors."""
        ending = [self.running.pop(name) for name in names or tuple(self.running)]
        for service in ending:
            service.stop.set()
        try:
            await asyncio.gather(*(service.task for service in ending))
        finally:
            for service in ending:
                await service.edges.aclose()

    async def publish(self, records: Sequence[RawRecord]) -> None:
        """Put records on their topics, headers and bytes as they are."""
        async with AIOKafkaProducer(
            bootstrap_servers=self.bootstrap, enable_idempotence=True, acks="all"
        ) as producer:
            for record in records:
                await producer.send_and_wait(
                    record.topic.replace("caseops.", f"{self.prefix}.", 1),
                    record.value,
                    key=record.key,
                    headers=list(record.headers),
                )

    async def topic(self, name: str) -> list[Any]:
        """Return all records of a topic, as the client gives them."""
        full = f"{self.prefix}.{name}"
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            enable_auto_commit=False,
            metadata_max_age_ms=1000,
        )
        await consumer.start()
        try:
            partitions = [TopicPartition(full, number) for number in range(PARTITIONS)]
            consumer.assign(partitions)
            await consumer.seek_to_beginning(*partitions)
            ends = await consumer.end_offsets(partitions)
            found: list[Any] = []
            while any([await consumer.position(p) < ends[p] for p in partitions]):
                for batch in (await consumer.getmany(timeout_ms=500)).values():
                    found += batch
            return found
        finally:
            await consumer.stop()

    async def log(self, run: str) -> list[tuple[str, dict[str, Any]]]:
        """Return (type without prefix and version, data) of a run's events, in log order."""
        found = []
        for record in await self.topic("events"):
            headers = {name: (raw or b"").decode() for name, raw in record.headers}
            if headers.get("ce_runid") == run or headers.get("ce_partitionkey") == run:
                name = headers["ce_type"].removeprefix("dev.caseops.").removesuffix(".v1")
                found.append((name, json.loads(record.value)))
        return found

    async def completion(self, environment: str, seconds: float = 30.0) -> dict[str, Any]:
        """Return the data of the completion event of the run in *environment*."""
        until = monotonic() + seconds
        while monotonic() < until:
            for record in await self.topic("completions"):
                data = json.loads(record.value)
                if data.get("environment") == environment:
                    return dict(data)
            self._surface()
            await asyncio.sleep(0.05)
        raise AssertionError(f"no completion for {environment} in {seconds} s")

    async def view(self, run: str) -> dict[str, Any]:
        """Return what the case view shows of a run."""
        found = await rows(self.url, "select document from run_view where run_id = %s", run)
        return dict(found[0][0]) if found else {}

    async def shift_clock(self, seconds: float) -> None:
        """Move the installation's clock forward by *seconds*."""
        await rows(
            self.url, "update clock set shift = shift + make_interval(secs => %s)", seconds
        )

    def _surface(self) -> None:
        for name, service in self.running.items():
            if service.task.done():
                service.task.result()
                raise AssertionError(f"{name} ended by itself")

    def _settings(self) -> Settings:
        return Settings(
            kafka_bootstrap=self.bootstrap,
            database_url=SecretStr(self.url),
            topic_prefix=self.prefix,
            data_dir=self.data_dir,
            http_port=0,
            local_mode=True,
            lease_seconds=self.lease_seconds,
            log_level="WARNING",
        )


@asynccontextmanager
async def a_system(
    bootstrap: str,
    url: str,
    prefix: str,
    data_dir: Path,
    *,
    replication: int = 1,
    **more: Any,
) -> AsyncIterator[System]:
    """Give an installation with its topics, no service running; all are stopped at the end."""
    await installation.apply(
        bootstrap, url, prefix, replication=replication, partitions=PARTITIONS
    )
    system = System(bootstrap, url, prefix, data_dir, **more)
    try:
        yield system
    finally:
        await system.stop()
