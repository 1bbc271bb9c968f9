"""The workers of one specialist process: hold leases, investigate, hand in what they found."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import structlog

from consumers.once import Edges
from consumers.specialists import work_items
from consumers.specialists.finishing import Finisher
from consumers.specialists.investigation import Investigation
from consumers.specialists.leases import Leaser
from consumers.specialists.measures import OPEN_ITEMS
from consumers.specialists.reading import Reader, Surroundings
from consumers.specialists.toolbox import Toolbox
from consumers.specialists.work_items import WorkItem
from infra.database import translated
from infra.errors import ConcurrentWrite, Transient

LONGEST_LOOK = 5.0
PAUSE = 0.5


@dataclass(slots=True)
class Workers:
    """At most `limits.workers` investigations at a time, all under one heartbeat."""

    edges: Edges
    toolbox: Toolbox
    leaser: Leaser
    finisher: Finisher
    around: Surroundings
    _running: dict[str, tuple[WorkItem, "asyncio.Task[None]"]] = field(default_factory=dict)
    _look: asyncio.Event = field(default_factory=asyncio.Event)
    _backlog: bool = False
    _stopping: bool = False

    @property
    def free(self) -> int:
        """Return how many more tasks could begin now."""
        return max(0, self.around.limits.workers - len(self._running))

    def begin(self, items: Iterable[WorkItem]) -> None:
        """Begin work on *items*, whose leases are committed."""
        for item in items:
            token = item.lease_token
            if token is None or self._stopping:
                continue
            task = asyncio.create_task(self._work(item))
            self._running[token] = (item, task)
            task.add_done_callback(partial(self._ended, token))

    def expect_more(self) -> None:
        """Note that tasks wait in the table: look there when a worker is free."""
        self._backlog = True
        if self.free:
            self._look.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop* is set, then finish what ends soon; raise what must stop us."""
        chores: list[asyncio.Task[Any]] = [
            asyncio.create_task(stop.wait()),
            asyncio.create_task(self._beat()),
            asyncio.create_task(self._take()),
            asyncio.create_task(self.finisher.run()),
        ]
        try:
            async with self.toolbox:
                ended, _ = await asyncio.wait(chores, return_when=asyncio.FIRST_COMPLETED)
                for chore in ended:
                    chore.result()
                await self._drain()
        finally:
            self._stopping = True
            await _cancel([*chores, *(task for _, task in self._running.values())])

    async def _work(self, item: WorkItem) -> None:
        finished = await Investigation(Reader(item, self.around)).run()
        await self.finisher.submit(finished)

    def _ended(self, token: str, task: "asyncio.Task[None]") -> None:
        self._running.pop(token, None)
        if not task.cancelled() and task.exception() is not None:
            structlog.get_logger().error(
                "worker_failed", error=repr(task.exception())[:300]
            )
        if self._backlog:
            self._look.set()

    async def _beat(self) -> None:
        """Extend the leases of what runs; work whose lease is lost stops (SCHED-17)."""
        limits = self.around.limits
        while True:
            await asyncio.sleep(limits.lease / 3)
            await self._patiently(self.beat)

    async def beat(self) -> None:
        """Extend all leases once, and stop the work that lost its own."""
        running = list(self._running.values())
        if not running:
            return
        limits = self.around.limits
        async with translated(), self.edges.pool.connection() as connection:
            held = await work_items.extend(
                connection, [item for item, _ in running], limits.lease, limits.late
            )
        for item, task in running:
            if item.lease_token not in held:
                task.cancel()

    async def _take(self) -> None:
        """Look for tasks nobody holds: when a worker becomes free, and now and then."""
        while True:
            await self._patiently(self.take)
            try:
                async with asyncio.timeout(min(LONGEST_LOOK, self.around.limits.lease / 2)):
                    await self._look.wait()
            except TimeoutError:
                pass
            self._look.clear()

    async def take(self) -> None:
        """Take what nobody holds, as far as workers are free."""
        free = self.free
        if free:
            items = await self.leaser.take(free)
            self._backlog = len(items) == free
            self.begin(items)
        async with translated(), self.edges.pool.connection() as connection:
            name = self.around.entry.name
            OPEN_ITEMS.labels(name).set(await work_items.count_open(connection, name))

    async def _patiently(self, act: Callable[[], Awaitable[None]]) -> None:
        try:
            await act()
        except (Transient, ConcurrentWrite) as error:
            self.edges.metrics.retried(type(error).__name__)
            await asyncio.sleep(PAUSE)

    async def _drain(self) -> None:
        """Give running work a moment to end, and its leases back where it does not."""
        self._stopping = True
        running = dict(self._running)
        if not running:
            return
        await asyncio.wait(
            [task for _, task in running.values()], timeout=self.around.limits.drain
        )
        left = [item for item, task in running.values() if not task.done()]
        await self._patiently(partial(self._release, left))

    async def _release(self, items: Sequence[WorkItem]) -> None:
        async with translated(), self.edges.pool.connection() as connection:
            await work_items.release(connection, items)


def patient_clock(edges: Edges) -> Callable[[], Awaitable[datetime]]:
    """Return a clock that waits while the database is away: work in hand is not lost by it."""

    async def now() -> datetime:
        while True:
            try:
                async with translated():
                    return await edges.clock.now()
            except Transient as error:
                edges.metrics.retried(type(error).__name__)
                await asyncio.sleep(PAUSE)

    return now


async def _cancel(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    pending = [task for task in tasks if not task.done()]
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
