"""Every service by name, wired to its edges; one process runs one or several of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from caseops import playbooks
from caseops.context import Context
from caseops.groups import ALL, GROUPS, READERS
from consumers.case_view_projector import case_view_projector
from consumers.deadline_clock.app import watcher
from consumers.deadline_clock.ticker import Ticker
from consumers.intake.app import Policy, intake
from consumers.join_engine.app import join_engine
from consumers.once import DecideOnce, Edges
from consumers.positions import Positions
from consumers.project import ProjectOnce
from consumers.specialists.app import SpecialistApp, Workplace
from consumers.specialists.capabilities import Limits
from consumers.specialists.sources.live import LiveSources
from consumers.specialists.sources.loki import Loki
from consumers.specialists.sources.opened import by_grant, case_folders
from consumers.specialists.sources.prometheus import Prometheus
from consumers.subscriber import Handler, Source, Subscription
from consumers.supervisor.app import supervisor
from event_schemas.topics import full_name
from infra.endpoints import Endpoints
from infra.errors import WrongInput
from infra.settings import Settings
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
        projector = case_view_projector(edges)
        service = _consumer(context, edges, projector, projector.handle)
        service.tasks.append(lambda stop: _until(stop, projector.keep_retrying()))
        return service
    return await _decider(name, context)


def _relay(context: Context) -> Service:
    health = RelayHealth()
    place = relay.Place(context.url, context.bootstrap, context.settings.topic_prefix)
    return Service(
        "outbox_relay",
        [lambda stop: relay.run(place, stop, health)],
        lambda: health.ready and health.seconds_since_progress() < RELAY_STUCK_SECONDS,
    )


async def _specialist(name: str, context: Context) -> Service:
    settings = context.settings
    edges = await context.edges(name, "specialist")
    place = Workplace(
        store=context.artifacts(),
        open_sources=by_grant(case_folders(), _live(context)),
        limits=Limits(lease=settings.lease_seconds),
        case_folders=settings.local_mode,
    )
    app = SpecialistApp(context.catalogue[name.removeprefix("specialist.")], edges, place)
    service = _consumer(context, edges, app.orders, app.handle)
    service.tasks.append(app.run)
    return service


def _live(context: Context) -> LiveSources:
    settings = context.settings
    return LiveSources(
        prometheus=Prometheus(context.http(url))
        if (url := settings.prometheus_url)
        else None,
        loki=Loki(context.http(url)) if (url := settings.loki_url) else None,
    )


async def _decider(name: str, context: Context) -> Service:
    edges = await context.edges(name, name)
    once = await _wired(name, context, edges)
    service = _consumer(context, edges, once, once.handle)
    if name == "deadline_clock":
        service.tasks.append(lambda stop: _until(stop, Ticker(edges).run()))
    return service


async def _wired(name: str, context: Context, edges: Edges) -> DecideOnce:
    if name == "intake":
        return intake(edges, _policy(context.settings))
    if name == "supervisor":
        return supervisor(edges, playbooks.used(playbooks.load()))
    if name == "join_engine":
        return join_engine(edges, context.digests(edges))
    return watcher(edges)


def _policy(settings: Settings) -> Policy:
    return Policy(
        directory=playbooks.load_directory(),
        playbooks=playbooks.load(),
        allowed_tenants=settings.allowed_tenants,
        local_mode=settings.local_mode,
    )


def _consumer(
    context: Context, edges: Edges, once: DecideOnce | ProjectOnce, handle: Handler
) -> Service:
    settings, name = context.settings, once.consumer
    prefix = settings.topic_prefix
    topics = [topic for topic, readers in READERS.items() if name in readers]
    subscription = Subscription(
        source=Source(
            bootstrap=context.bootstrap,
            group=f"{prefix}.{name}",
            topics=tuple(full_name(prefix, topic) for topic in topics),
            instance=settings.instance,
            stuck_after_seconds=settings.stuck_after_seconds,
        ),
        handler=handle,
        positions=_positions(context, edges, once, topics),
        metrics=edges.metrics,
        backing_off=lambda: once.carrier.backing_off,
        flush=once.flush,
    )
    tasks: list[Task] = [subscription.run, lambda stop: _until(stop, edges.wakeup.run())]
    return Service(name, tasks, lambda: subscription.ready)


def _positions(
    context: Context, edges: Edges, once: DecideOnce | ProjectOnce, topics: Sequence[str]
) -> Positions:
    return Positions(
        consumer=once.consumer,
        pool=edges.pool,
        handled=once.offsets,
        must_be_told=_must_be_told(once, topics, context.settings.topic_prefix),
        start_at=context.settings.start_new_consumers_at,
    )


def _must_be_told(
    once: DecideOnce | ProjectOnce, topics: Sequence[str], prefix: str
) -> frozenset[str]:
    """Return the topics that a new decider may not decide again by itself; projectors fold all."""
    told = LOG & set(topics) if isinstance(once, DecideOnce) else frozenset()
    return frozenset(full_name(prefix, topic) for topic in told)


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
