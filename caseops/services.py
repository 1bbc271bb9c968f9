"""Every service by name, wired to its edges; one process runs one or several of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import structlog

from caseops import playbooks
from caseops.groups import ALL, GROUPS, READERS
from consumers.case_view_projector import case_view_projector
from consumers.deadline_clock.app import Ticker, watcher
from consumers.intake.app import Policy, intake
from consumers.join_engine.app import join_engine
from consumers.once import DecideOnce, Edges
from consumers.positions import Positions
from consumers.subscriber import Source, Subscription
from consumers.supervisor.app import supervisor
from event_schemas.topics import full_name
from infra import database
from infra.artifacts import ArtifactStore
from infra.clock import Clock
from infra.database import Pool
from infra.endpoints import Endpoints
from infra.errors import DependencyAway, WrongInput
from infra.observability import ConsumerMetrics
from infra.settings import Settings
from infra.wakeup import Wakeup
from outbox_relay import app as relay
from outbox_relay.health import RelayHealth

LOG = frozenset({"events"})
RELAY_STUCK_SECONDS = 60.0

Task = Callable[[asyncio.Event], Awaitable[None]]


@dataclass(slots=True)
class Service:
    """One service: what runs, and whether it is ready."""

    name: str
    tasks: list[Task]
    ready: Callable[[], bool]


@dataclass(slots=True)
class Context:
    """The edges that the services of one process share, opened on first use."""

    settings: Settings
    stack: AsyncExitStack
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

    def artifacts(self, pool: Pool) -> ArtifactStore:
        """Return the artifact store over *pool*."""
        return ArtifactStore(
            pool, self.settings.data_dir / "artifacts", self.settings.topic_prefix
        )


def names_of(wanted: str) -> tuple[str, ...]:
    """Return the services that *wanted* means: one name, a group, or `all`."""
    if wanted == "all":
        return ALL
    if wanted in GROUPS:
        return GROUPS[wanted]
    if wanted in ALL:
        return (wanted,)
    raise WrongInput(
        "UNKNOWN_SERVICE", wanted, f"One of {', '.join([*GROUPS, *ALL, 'all'])}."
    )


async def build(name: str, context: Context) -> Service:
    """Return the service *name*, wired and not yet running."""
    if name == "outbox_relay":
        return _relay(context)
    if name.startswith("specialist."):
        return await _specialist(name, context)
    if name == "case_view":
        edges = await context.edges(name, "projector")
        return _consumer(context, edges, case_view_projector(edges))
    return await _decider(name, context)


def _relay(context: Context) -> Service:
    health = RelayHealth()
    place = relay.Place(context.url, context.bootstrap, context.settings.topic_prefix)
    return Service(
        "outbox_relay",
        [lambda stop: relay.run(place, stop, health)],
        lambda: health.ready and health.seconds_since_progress() < RELAY_STUCK_SECONDS,
    )


async def _decider(name: str, context: Context) -> Service:
    edges = await context.edges(name, name)
    if name == "intake":
        return _consumer(context, edges, intake(edges, _policy(context.settings)))
    if name == "supervisor":
        known = playbooks.used(playbooks.load())
        return _consumer(context, edges, supervisor(edges, known))
    if name == "join_engine":
        store = context.artifacts(edges.pool)
        return _consumer(context, edges, join_engine(edges, store.digests))
    ticker = Ticker(edges)
    service = _consumer(context, edges, watcher(edges))
    service.tasks.append(lambda stop: _until(stop, ticker.run()))
    return service


def _policy(settings: Settings) -> Policy:
    return Policy(
        directory=playbooks.load_directory(),
        playbooks=playbooks.load(),
        allowed_tenants=settings.allowed_tenants,
        local_mode=settings.local_mode,
    )


def _consumer(context: Context, edges: Edges, once: DecideOnce) -> Service:
    settings, name = context.settings, once.consumer
    topics = [topic for topic, readers in READERS.items() if name in readers]
    prefix = settings.topic_prefix
    subscription = Subscription(
        source=Source(
            bootstrap=context.bootstrap,
            group=f"{prefix}.{name}",
            topics=tuple(full_name(prefix, topic) for topic in topics),
            stuck_after_seconds=settings.stuck_after_seconds,
        ),
        handler=once.handle,
        positions=Positions(
            consumer=name,
            pool=edges.pool,
            handled=once.offsets,
            must_be_told=frozenset(full_name(prefix, topic) for topic in LOG & set(topics)),
            start_at=settings.start_new_consumers_at,
        ),
        metrics=edges.metrics,
        backing_off=lambda: once.carrier.backing_off,
        flush=once.flush,
    )
    ring = edges.wakeup
    return Service(
        name,
        [subscription.run, lambda stop: _until(stop, ring.run())],
        lambda: subscription.ready,
    )


async def _until(stop: asyncio.Event, work: Awaitable[None]) -> None:
    """Run *work* until *stop* is set; an error of *work* surfaces."""
    task = asyncio.ensure_future(work)
    waiting = asyncio.ensure_future(stop.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if task.done():
        task.result()
        return
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def run(names: Sequence[str], context: Context, stop: asyncio.Event) -> None:
    """Run the services *names* in this process until *stop*; the first failure stops all."""
    services = [await build(name, context) for name in names]
    endpoints = Endpoints(
        {service.name: service.ready for service in services},
        context.settings.http_host,
        context.settings.http_port,
    )
    url = await endpoints.start()
    structlog.get_logger().info("services_started", services=list(names), url=url)
    tasks = [
        asyncio.create_task(_stopping(task, stop))
        for each in services
        for task in each.tasks
    ]
    try:
        await asyncio.gather(*tasks)
    finally:
        stop.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        await endpoints.stop()


async def _stopping(task: Task, stop: asyncio.Event) -> None:
    try:
        await task(stop)
    finally:
        stop.set()
