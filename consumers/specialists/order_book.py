"""The work items of one batch of orders, written with the facts that take them on."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from consumers.decider import Intent
from consumers.specialists import work_items
from consumers.specialists.orders import GiveUp, NewLease, Seen, TakeOn, digest_of
from consumers.specialists.work_items import WorkItem
from consumers.streams import Drafts
from event_schemas.delegations import DelegationAccepted, LeaseAcquired
from event_schemas.payload import Payload
from infra.database import Connection


def new_lease(worker: str, now: datetime, seconds: float) -> NewLease:
    """Return a lease under a random token; only the token's digest is ever published."""
    token = secrets.token_hex(16)
    return NewLease(token, digest_of(token), worker, now + timedelta(seconds=seconds))


@dataclass(slots=True)
class OrderBook:
    """What one batch of orders changes; *free* workers of this process take tasks at once.

    *taken* are the tasks they took, to be begun once the batch is committed.
    """

    worker: str
    lease_seconds: float
    free: int
    now: datetime
    taken: dict[str, WorkItem] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)
    _orders: list[WorkItem | Intent] = field(default_factory=list)
    _seen: int = 0

    async def open(self, connection: Connection, intents: Sequence[Intent]) -> set[str]:
        """Lock the rows that exist; the streams are those of the intents."""
        tasks = {intent.command.order.task_id for intent in intents}
        self._known = await work_items.lock_states(connection, tasks)
        return set()

    def place(self, intent: Intent) -> Intent:
        """Return *intent* with what is known about its task, and a lease if a worker is free."""
        cancelled = self._known.get(intent.command.order.task_id) == "cancelled"
        spare = self.free > len(self.taken)
        lease = (
            new_lease(self.worker, self.now, self.lease_seconds)
            if isinstance(intent.command, TakeOn) and spare
            else None
        )
        return replace(intent, observed=Seen(self.now, cancelled, lease))

    def recorded(self, intent: Intent, drafts: Drafts) -> None:
        """Note the row that follows from what was just decided."""
        decided = drafts.payloads[self._seen :]
        self._seen = len(drafts.payloads)
        task = intent.command.order.task_id
        if isinstance(intent.command, GiveUp):
            self._known[task] = "cancelled"
            self.taken.pop(task, None)
            self._orders.append(intent)
        elif any(isinstance(fact, DelegationAccepted) for fact in decided):
            self._take(intent, decided, drafts.states[intent.stream][1].attempt)

    def _take(self, intent: Intent, decided: Sequence[Payload], attempt: int) -> None:
        leased = any(isinstance(fact, LeaseAcquired) for fact in decided)
        order = intent.command.order
        item = WorkItem(
            task_id=order.task_id,
            tenant=intent.tenant,
            run_id=order.run_id,
            key=intent.key,
            order=order,
            order_id=intent.command.order_id,
            attempt=attempt if leased else max(order.attempt, attempt + 1),
            lease_token=intent.observed.lease.token if leased else None,
        )
        self._orders.append(item)
        if leased:
            self.taken[item.task_id] = item

    @property
    def left_waiting(self) -> bool:
        """Say whether a task was taken on without a free worker."""
        items = [each for each in self._orders if isinstance(each, WorkItem)]
        return any(item.lease_token is None for item in items)

    async def close(self, connection: Connection) -> None:
        """Write the rows in the order in which they were decided."""
        for each in self._orders:
            if isinstance(each, WorkItem):
                await work_items.insert(connection, each, self.worker, self.lease_seconds)
            else:
                await work_items.cancel(
                    connection,
                    each.command.order,
                    tenant=each.tenant,
                    key=each.key,
                    order_id=each.command.order_id,
                )
