"""A specialist, wired: its orders, its workers, its tools."""

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from consumers.once import DecideOnce, Edges
from consumers.sorting import Record
from consumers.specialists.capabilities import CatalogueEntry, Limits
from consumers.specialists.finishing import Finisher
from consumers.specialists.leases import Leaser
from consumers.specialists.order_book import OrderBook
from consumers.specialists.orders import decider, stream_of
from consumers.specialists.reading import Surroundings
from consumers.specialists.runner import Workers, patient_clock
from consumers.specialists.tool_grant import OpenSources
from consumers.specialists.toolbox import Toolbox
from consumers.specialists.work_items import WorkItem
from infra.artifacts import ArtifactStore


@dataclass(frozen=True, slots=True)
class Workplace:
    """What a specialist works with; *case_folders*: orders may name one (local mode only)."""

    store: ArtifactStore
    open_sources: OpenSources
    limits: Limits = field(default_factory=Limits)
    case_folders: bool = False


class SpecialistApp:
    """One specialist process: `handle` takes orders, `run` works on them."""

    def __init__(self, entry: CatalogueEntry, edges: Edges, place: Workplace) -> None:
        worker = f"{entry.name}-{secrets.token_hex(4)}"
        toolbox = Toolbox(entry.tool_server(place.open_sources), place.limits.one_try)
        around = Surroundings(
            entry, toolbox, patient_clock(edges), place.limits, place.case_folders
        )
        self.workers = Workers(
            edges,
            toolbox,
            Leaser(entry, edges, place.limits, worker),
            Finisher(entry, edges, place.store),
            around,
        )
        self.orders = DecideOnce(
            f"specialist.{entry.name}", decider(entry), edges, within=self._book
        )
        self._books: list[OrderBook] = []
        self._worker = worker
        self._lease = place.limits.lease

    async def handle(self, records: Sequence[Record]) -> None:
        """Take on or refuse the orders in *records*; what was taken on begins at once."""
        self._books = []
        await self.orders.handle(records)
        for book in self._books:
            self.workers.begin(i for i in book.taken.values() if self._is_committed(i))
        if any(book.left_waiting for book in self._books):
            self.workers.expect_more()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop* is set; raise what must stop the service."""
        await self.workers.run(stop)

    def _book(self, now: datetime) -> OrderBook:
        book = OrderBook(self._worker, self._lease, self.workers.free, now)
        self._books.append(book)
        return book

    def _is_committed(self, item: WorkItem) -> bool:
        """Say whether the item's lease is recorded: a batch that was tried again left none."""
        _, state = self.orders.states.get(stream_of(item.task_id))
        return bool(state.is_held_with(item.lease_token))
