"""The edges that the services of one process share, opened on first use."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import httpx2

from consumers.join_engine.observe import DigestOf
from consumers.once import Edges
from consumers.specialists.capabilities import CatalogueEntry
from consumers.specialists.catalogue import BY_NAME
from infra import database
from infra.artifacts import ArtifactStore
from infra.clock import Clock
from infra.database import Pool, translated
from infra.errors import DependencyAway
from infra.observability import ConsumerMetrics
from infra.settings import Settings
from infra.wakeup import Wakeup


@dataclass(slots=True)
class Context:
    """The edges that the services of one process share, opened on first use."""

    settings: Settings
    stack: AsyncExitStack
    catalogue: Mapping[str, CatalogueEntry] = field(default_factory=lambda: BY_NAME)
    pools: dict[str, Pool] = field(default_factory=dict)
    wakeups: dict[str, Wakeup] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        """Kafka's address; raise `DependencyAway` when none is set."""
        if not self.settings.kafka_bootstrap:
            raise DependencyAway(
                "KAFKA_AWAY", "no Kafka address", "Set CASEOPS_KAFKA_BOOTSTRAP."
            )
        return self.settings.kafka_bootstrap

    @property
    def url(self) -> str:
        """The store's URL; raise `DependencyAway` when none is set."""
        if self.settings.database_url is None:
            raise DependencyAway(
                "DATABASE_AWAY", "no database", "Set CASEOPS_DATABASE_URL."
            )
        return self.settings.database_url.get_secret_value()

    async def pool(self, writer: str) -> Pool:
        """Return the pool of connections that act as *writer*."""
        if writer not in self.pools:
            pool = database.pool(self.url, writer)
            await pool.open()
            self.stack.push_async_callback(pool.close)
            self.pools[writer] = pool
        return self.pools[writer]

    async def edges(self, consumer: str, writer: str) -> Edges:
        """Return the edges of one consumer."""
        pool = await self.pool(writer)
        wakeup = self.wakeups.setdefault(writer, Wakeup(pool))
        return Edges(
            pool, Clock(pool), wakeup, ConsumerMetrics(consumer), self.settings.topic_prefix
        )

    def http(self, url: str) -> httpx2.AsyncClient:
        """Return a client of the data source at *url*."""
        client = httpx2.AsyncClient(base_url=url, timeout=20.0)
        self.stack.push_async_callback(client.aclose)
        return client

    def artifacts(self) -> ArtifactStore:
        """Return the artifact store of the installation."""
        return ArtifactStore(self.settings.data_dir, self.settings.topic_prefix)

    def digests(self, edges: Edges) -> DigestOf:
        """Return how the hashes of stored bytes are looked up."""
        store = self.artifacts()

        async def digests(shas: Sequence[str]) -> Mapping[str, str | None]:
            async with translated(), edges.pool.connection() as connection:
                return await store.digest_of(connection, shas)

        return digests
