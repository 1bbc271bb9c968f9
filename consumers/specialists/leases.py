"""Leases on work nobody holds: a waiting task, or one whose worker went silent (SCHED-11)."""

from dataclasses import dataclass, field, replace

from consumers.once import Edges
from consumers.specialists import work_items
from consumers.specialists.capabilities import CatalogueEntry, Limits
from consumers.specialists.measures import LEASES_EXPIRED, RESULTS
from consumers.specialists.order_book import new_lease
from consumers.specialists.orders import Seen, lease_acquired
from consumers.specialists.recording import Recorder
from consumers.specialists.results import failed, submitted
from consumers.specialists.work_items import Leasing, Open, WorkItem
from event_schemas.delegations import LeaseExpired
from event_schemas.payload import Payload
from infra.database import translated
from infra.event_log import Fact
from infra.unit_of_work import Batch, write

ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"


@dataclass(slots=True)
class Taking:
    """What one transaction takes over: rows, facts, and the work that follows."""

    rows: list[Leasing] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    items: list[WorkItem] = field(default_factory=list)
    expired: int = 0
    exhausted: int = 0


@dataclass(frozen=True, slots=True)
class Leaser:
    """Takes tasks for the workers of one process, who appear as *worker*."""

    entry: CatalogueEntry
    edges: Edges
    limits: Limits
    worker: str

    async def take(self, limit: int) -> list[WorkItem]:
        """Lease up to *limit* tasks that nobody holds, each recorded, and return them.

        A task without attempts or time left is closed instead; of two takers one gets it.
        """
        now = await self.edges.clock.now()
        pool = self.edges.pool
        recorder = Recorder(self.edges.prefix, now)
        async with translated(), pool.connection() as connection, connection.transaction():
            found = await work_items.lock_open(connection, self.entry.name, limit)
            if not found:
                return []
            taking = Taking()
            for each in found:
                self._decide(each, recorder, taking)
            await work_items.lease(connection, taking.rows, self.worker, self.limits.lease)
            await write(
                connection, Batch(f"specialist.{self.entry.name}", facts=taking.facts)
            )
        self.edges.wakeup.ring()
        LEASES_EXPIRED.labels(self.entry.name).inc(taking.expired)
        RESULTS.labels(self.entry.name, "failed").inc(taking.exhausted)
        return taking.items

    def _decide(self, found: Open, recorder: Recorder, taking: Taking) -> None:
        item, lost = found.item, found.state == "leased"
        spent = lost and item.attempt >= found.max_attempts
        attempt = item.attempt + 1 if lost else item.attempt
        facts: list[Payload] = []
        goes_on = found.in_time and not spent
        if lost:
            taking.expired += 1
            facts.append(_expired(item, recorder, attempt if goes_on else None))
        if goes_on:
            facts.append(self._lease(replace(item, attempt=attempt), recorder, taking))
        else:
            taking.rows.append(Leasing(item.task_id, item.attempt, None))
            if found.in_time:
                taking.exhausted += 1
                facts.append(self._give_up(item))
        taking.facts += recorder.facts(item, found.version, facts)

    def _lease(self, item: WorkItem, recorder: Recorder, taking: Taking) -> Payload:
        lease = new_lease(self.worker, recorder.now, self.limits.lease)
        taking.rows.append(Leasing(item.task_id, item.attempt, lease.token))
        taking.items.append(replace(item, lease_token=lease.token))
        return lease_acquired(item.task_id, item.attempt, Seen(recorder.now, lease=lease))

    def _give_up(self, item: WorkItem) -> Payload:
        summary = f"no worker finished the task in {item.attempt} attempts"
        result = failed(item.order, self.entry, ATTEMPTS_EXHAUSTED, summary)
        return submitted(item.order, item.attempt, result.model_dump(mode="json"))


def _expired(item: WorkItem, recorder: Recorder, following: int | None) -> LeaseExpired:
    return LeaseExpired(
        task_id=item.task_id,
        attempt=item.attempt,
        expired_at=recorder.now,
        next_attempt=following,
    )
