"""Finished work: results, artifacts and facts of several tasks in one transaction."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import random

import structlog

from consumers.failure_policy import Step, next_step, pause
from consumers.once import Edges
from consumers.specialists import work_items
from consumers.specialists.capabilities import CatalogueEntry
from consumers.specialists.measures import LATE, RESULTS
from consumers.specialists.recording import Recorder
from consumers.specialists.results import failed, submitted
from consumers.specialists.work_items import WorkItem
from event_schemas.artifacts import ArtifactStored
from event_schemas.payload import Payload, canonical
from event_schemas.results import ResultSubmitted
from infra.artifacts import ArtifactStore, Frozen, freeze
from infra.database import Connection, translated
from infra.errors import Poison, WrongInput
from infra.event_log import Fact
from infra.unit_of_work import Batch, write

NOT_RECORDABLE = "RESULT_NOT_RECORDABLE"


@dataclass(frozen=True, slots=True)
class Finished:
    """The work of one lease: its facts, the submitted result last, and the bytes they cite."""

    item: WorkItem
    facts: tuple[Payload, ...]
    artifacts: tuple[Frozen, ...] = ()

    @property
    def result(self) -> ResultSubmitted:
        """Return the submitted result."""
        last = self.facts[-1]
        if not isinstance(last, ResultSubmitted):
            raise TypeError("finished work ends in a submitted result")
        return last


@dataclass(slots=True)
class _Waiting:
    finished: Finished
    done: "asyncio.Future[bool]"
    reduced: bool = False


@dataclass(slots=True)
class Finisher:
    """Writes what workers hand in; what comes while a transaction runs goes into the next."""

    entry: CatalogueEntry
    edges: Edges
    store: ArtifactStore
    _waiting: list[_Waiting] = field(default_factory=list)
    _called: asyncio.Event = field(default_factory=asyncio.Event)

    async def submit(self, finished: Finished) -> bool:
        """Return once *finished* is committed: True as the result, False as a late artifact."""
        await self.store.keep(finished.artifacts)
        waiting = _Waiting(finished, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._called.set()
        return await waiting.done

    async def run(self) -> None:
        """Write until cancelled; raise what must stop the service."""
        while True:
            await self._called.wait()
            self._called.clear()
            waiting, self._waiting = self._waiting, []
            await self._carry(waiting)

    async def _carry(self, waiting: list[_Waiting]) -> None:
        number = 0
        while waiting:
            number += 1
            try:
                counted = await self.write([each.finished for each in waiting])
            except Exception as error:  # noqa: BLE001 - sorted by the failure policy
                waiting = await self._after(error, number, waiting)
            else:
                for each in waiting:
                    _set(each, counted=each.finished.item.lease_token in counted)
                return

    async def _after(
        self, error: Exception, number: int, waiting: list[_Waiting]
    ) -> list[_Waiting]:
        """Return what is still to be written after *error*."""
        step = next_step(error, attempt=number, records=len(waiting))
        if step is Step.STOP:
            raise error
        self.edges.metrics.retried(type(error).__name__)
        if step is Step.RETRY:
            await asyncio.sleep(pause(number, random()))  # noqa: S311 - jitter
        if step in {Step.RETRY, Step.DECIDE_AGAIN}:
            return waiting
        if step is Step.SPLIT:
            for each in waiting:
                await self._carry([each])
            return []
        return self._reduce(waiting[0], error)

    def _reduce(self, waiting: _Waiting, error: Exception) -> list[_Waiting]:
        """Return the work as a failed result instead of facts the store refused."""
        item = waiting.finished.item
        structlog.get_logger().error(
            "result_not_recordable", task_id=item.task_id, error=str(error)[:200]
        )
        if waiting.reduced:
            if not waiting.done.done():
                waiting.done.set_exception(error)
            return []
        result = failed(
            item.order, self.entry, NOT_RECORDABLE, "the answer cannot be recorded"
        )
        fact = submitted(item.order, item.attempt, result.model_dump(mode="json"))
        waiting.finished = Finished(item, (fact,))
        waiting.reduced = True
        return [waiting]

    async def write(self, work: Sequence[Finished]) -> set[str]:
        """Write *work* in one transaction; return the lease tokens whose results count.

        Work whose lease no longer holds leaves a late artifact and nothing else (SCHED-10).
        """
        now = await self.edges.clock.now()
        pool = self.edges.pool
        async with translated(), pool.connection() as connection, connection.transaction():
            held = await work_items.finish(connection, [each.item for each in work])
            kept = [e for e in work if e.item.lease_token in held]
            late = [self._late(e) for e in work if e.item.lease_token not in held]
            await self.store.keep([a for each in late for a in each.artifacts])
            facts = await _facts(connection, Recorder(self.edges.prefix, now), kept + late)
            records = await self.store.save(
                connection, [a for each in kept + late for a in each.artifacts]
            )
            batch = Batch(f"specialist.{self.entry.name}", facts=facts, outgoing=records)
            await write(connection, batch)
        self.edges.wakeup.ring()
        self._count(kept, late)
        return held

    def _late(self, finished: Finished) -> Finished:
        """Return what remains of work that nobody waits for: its result, labelled (ART-11)."""
        data = canonical(finished.result.result)
        try:
            frozen = freeze(data, "application/json", finished.item.tenant)
        except WrongInput as error:
            raise Poison(error.code, error.message) from error
        stored = ArtifactStored(
            artifact_uri=frozen.uri,
            sha256=frozen.sha256,
            size=frozen.size,
            media_type=frozen.media_type,
            schema_ref=finished.item.order.delegation.output_schema,
            producer=self.entry.agent_id,
            tool_call_id=f"attempt-{finished.item.attempt}",
            late=True,
        )
        return Finished(finished.item, (stored,), (frozen,))

    def _count(self, kept: Sequence[Finished], late: Sequence[Finished]) -> None:
        for each in kept:
            status = each.result.result
            named = status.get("status") if isinstance(status, dict) else None
            known = named in {"completed", "no_data", "partial", "blocked", "failed"}
            RESULTS.labels(self.entry.name, named if known else "unknown").inc()
        LATE.labels(self.entry.name).inc(len(late))


async def _facts(
    connection: Connection, recorder: Recorder, work: Sequence[Finished]
) -> list[Fact]:
    """Return the facts of *work*; of one task's several leases the one that counts is first."""
    versions = await work_items.versions(connection, [each.item for each in work])
    facts: list[Fact] = []
    for each in work:
        task = each.item.task_id
        facts += recorder.facts(each.item, versions[task], each.facts)
        versions[task] += len(each.facts)
    return facts


def _set(waiting: _Waiting, *, counted: bool) -> None:
    if not waiting.done.done():
        waiting.done.set_result(counted)
