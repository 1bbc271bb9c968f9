"""Members of a consumer group over a real broker and a real database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from caseops import playbooks
from consumers.intake.app import Policy, intake
from consumers.once import DecideOnce
from consumers.positions import Positions
from consumers.subscriber import Source, Subscription
from tests.support.store import edges_to


@dataclass
class Member:
    """One running group member."""

    subscription: Subscription
    once: DecideOnce
    task: asyncio.Task[None]
    stop: asyncio.Event

    async def end(self) -> None:
        """Stop in good order and surface what stopped it."""
        self.stop.set()
        await self.task


@asynccontextmanager
async def intake_member(
    bootstrap: str, url: str, prefix: str, topics: tuple[str, ...] = ("alerts",)
) -> AsyncIterator[Member]:
    """Give an intake that consumes *topics* of *prefix* until the block ends."""
    async with edges_to(url, "intake", "intake", prefix) as edges:
        policy = Policy(playbooks.load_directory(), playbooks.load(), (), local_mode=True)
        once = intake(edges, policy)
        stop = asyncio.Event()
        subscription = Subscription(
            source=Source(
                bootstrap, f"{prefix}.intake", tuple(f"{prefix}.{t}" for t in topics)
            ),
            handler=once.handle,
            positions=Positions(
                "intake", edges.pool, once.offsets, frozenset({f"{prefix}.events"})
            ),
            metrics=edges.metrics,
            backing_off=lambda: once.carrier.backing_off,
            flush=once.flush,
        )
        member = Member(
            subscription, once, asyncio.create_task(subscription.run(stop)), stop
        )
        try:
            yield member
        finally:
            stop.set()
            await asyncio.gather(member.task, return_exceptions=True)
