"""The clock's rows: open due times, written with the batch that read the facts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from consumers.deadline_clock.decider import About, Forget, Watch
from consumers.decider import Intent
from consumers.streams import Drafts
from infra.database import Connection


@dataclass(frozen=True, slots=True)
class Due:
    """A due time that is over."""

    about: About
    subject_id: str
    run_id: str
    key: str
    tenant: str
    due_at: datetime
    cause_id: str
    now: datetime


@dataclass(slots=True)
class DeadlineRows:
    """The rows one batch adds and removes."""

    intents: list[Intent] = field(default_factory=list)

    async def open(self, connection: Connection, intents: Sequence[Intent]) -> set[str]:
        """Need nothing before the decision."""
        return set()

    def place(self, intent: Intent) -> Intent:
        """Return *intent* as it is."""
        return intent

    def recorded(self, intent: Intent, drafts: Drafts) -> None:
        """Remember the row to write."""
        self.intents.append(intent)

    async def close(self, connection: Connection) -> None:
        """Write the rows in the order of the facts."""
        for intent in self.intents:
            if isinstance(intent.command, Watch):
                await _watch(connection, intent, intent.command)
            else:
                await _forget(connection, intent, intent.command)


async def _watch(connection: Connection, intent: Intent, command: Watch) -> None:
    await connection.execute(
        "insert into deadlines (about, subject_id, run_id, key, tenant, due_at, cause_id)"
        " values (%s, %s, %s, %s, %s, %s, %s) on conflict do nothing",
        (
            command.about,
            command.subject_id,
            intent.run_id,
            intent.key,
            intent.tenant,
            command.due_at,
            command.cause_id,
        ),
    )


async def _forget(connection: Connection, intent: Intent, command: Forget) -> None:
    await connection.execute(
        "delete from deadlines where run_id = %s"
        " and (%s::text is null or (about = %s and subject_id = %s))",
        (intent.run_id, command.about, command.about, command.subject_id),
    )


async def take_due(connection: Connection, limit: int) -> list[Due]:
    """Take due times that are over out of the table; the caller's transaction records them."""
    cursor = await connection.execute(
        "with due as (select run_id, about, subject_id from deadlines"
        "  where due_at <= caseops.now() order by due_at limit %s for update skip locked)"
        " delete from deadlines d using due where (d.run_id, d.about, d.subject_id)"
        "  = (due.run_id, due.about, due.subject_id)"
        " returning d.about, d.subject_id, d.run_id, d.key, d.tenant, d.due_at, d.cause_id,"
        "  caseops.now()",
        (limit,),
    )
    return [Due(*row) async for row in cursor]


async def seconds_to_next(connection: Connection) -> float | None:
    """Return how long until the next due time, None when nothing is watched."""
    cursor = await connection.execute(
        "select extract(epoch from min(due_at) - caseops.now())::float8 from deadlines"
    )
    row = await cursor.fetchone()
    return None if row is None else row[0]
