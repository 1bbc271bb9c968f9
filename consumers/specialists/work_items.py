"""The rows of work in a specialist's hands. A lease counts in database time, unshifted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from event_schemas.delegations import CancelDelegation, ExecuteDelegation
from infra.database import Connection


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One delegation under a lease: whoever holds *lease_token* may finish it."""

    task_id: str
    tenant: str
    run_id: str
    key: str
    order: ExecuteDelegation
    order_id: str
    attempt: int
    lease_token: str | None


@dataclass(frozen=True, slots=True)
class Open:
    """A row that waits, or whose lease ran out, locked by the transaction that read it."""

    item: WorkItem
    state: str
    max_attempts: int
    in_time: bool
    version: int


@dataclass(frozen=True, slots=True)
class Leasing:
    """What becomes of an open row: a new lease, or (without a token) its end."""

    task_id: str
    attempt: int
    token: str | None


_VERSION = (
    "coalesce((select max(streamversion) from events"
    " where stream = 'delegation/' || w.task_id), 0)"
)
_HELD = (
    " from unnest(%s::text[], %s::text[]) u(task_id, token)"
    " where w.task_id = u.task_id and w.lease_token = u.token and w.state = 'leased'"
    " and w.lease_until > clock_timestamp()"
)
_INSERT = """
insert into work_items (task_id, specialist, tenant, run_id, key, step_id, plan_version, command,
    command_id, state, attempt, max_attempts, lease_token, lease_until, worker, deadline_at)
values (%(task)s, %(specialist)s, %(tenant)s, %(run)s, %(key)s, %(step)s, %(plan)s,
    %(command)s::jsonb, %(order_id)s, %(state)s, %(attempt)s, %(max_attempts)s, %(token)s,
    clock_timestamp() + make_interval(secs => %(seconds)s), %(worker)s, %(deadline)s)
on conflict (task_id) do update set command = excluded.command,
    command_id = excluded.command_id, state = excluded.state, attempt = excluded.attempt,
    max_attempts = excluded.max_attempts, lease_token = excluded.lease_token,
    lease_until = excluded.lease_until, worker = excluded.worker,
    deadline_at = excluded.deadline_at
"""
_CANCEL = """
insert into work_items as w (task_id, specialist, tenant, run_id, key, step_id, plan_version,
    command, command_id, state, attempt, max_attempts, deadline_at)
values (%(task)s, %(specialist)s, %(tenant)s, %(run)s, %(key)s, '', 0, %(command)s::jsonb,
    %(order_id)s, 'cancelled', 0, 0, %(deadline)s)
on conflict (task_id) do update set state = 'cancelled', task_token = null
where w.state in ('waiting', 'leased')
"""


async def lock_states(connection: Connection, task_ids: Iterable[str]) -> dict[str, str]:
    """Lock the rows of *task_ids* that exist and return the state of each."""
    cursor = await connection.execute(
        "select task_id, state from work_items where task_id = any(%s)"
        " order by task_id for update",
        (sorted(task_ids),),
    )
    return {row[0]: row[1] async for row in cursor}


async def insert(
    connection: Connection, item: WorkItem, worker: str, lease_seconds: float
) -> None:
    """Write *item*, leased where it has a token, else waiting; it replaces an older attempt."""
    order, held = item.order, item.lease_token is not None
    await connection.execute(
        _INSERT,
        {
            **_named(item.task_id, item.tenant, item.key, order),
            "step": order.delegation.step_id,
            "plan": order.delegation.plan_version,
            "order_id": item.order_id,
            "state": "leased" if held else "waiting",
            "attempt": item.attempt,
            "max_attempts": item.attempt - 1 + order.delegation.max_attempts,
            "token": item.lease_token,
            "seconds": lease_seconds if held else None,
            "worker": worker if held else None,
        },
    )


async def cancel(
    connection: Connection, order: CancelDelegation, *, tenant: str, key: str, order_id: str
) -> None:
    """Cancel the open row of a task; without a row, leave one so that a later order sees it."""
    await connection.execute(
        _CANCEL, {**_named(order.task_id, tenant, key, order), "order_id": order_id}
    )


def _named(
    task_id: str, tenant: str, key: str, order: ExecuteDelegation | CancelDelegation
) -> dict[str, object]:
    return {
        "task": task_id,
        "specialist": order.addressee,
        "tenant": tenant,
        "run": order.run_id,
        "key": key,
        "command": order.model_dump_json(),
        "deadline": order.deadline_at,
    }


async def lock_open(connection: Connection, specialist: str, limit: int) -> list[Open]:
    """Lock and return rows nobody works on, the oldest first; rows locked elsewhere are left."""
    cursor = await connection.execute(
        "select task_id, tenant, run_id, key, command::text, command_id, attempt, state,"
        f" max_attempts, deadline_at > caseops.now(), {_VERSION}"
        " from work_items w where specialist = %s and (state = 'waiting'"
        " or (state = 'leased' and lease_until <= clock_timestamp()))"
        " order by created_at limit %s for update of w skip locked",
        (specialist, limit),
    )
    return [
        Open(
            WorkItem(
                task_id=row[0],
                tenant=row[1],
                run_id=row[2],
                key=row[3],
                order=ExecuteDelegation.model_validate_json(row[4]),
                order_id=row[5],
                attempt=row[6],
                lease_token=None,
            ),
            *row[7:],
        )
        async for row in cursor
    ]


async def lease(
    connection: Connection, rows: Sequence[Leasing], worker: str, lease_seconds: float
) -> None:
    """Give each of *rows* to *worker*, or close it as expired where it gets no token."""
    await connection.execute(
        "update work_items w set attempt = u.attempt, lease_token = u.token, worker = %s,"
        " state = case when u.token is null then 'expired' else 'leased' end,"
        " task_token = case when u.token is null then null else task_token end,"
        " lease_until = clock_timestamp() + make_interval(secs => %s)"
        " from unnest(%s::text[], %s::int[], %s::text[]) u(task_id, attempt, token)"
        " where w.task_id = u.task_id",
        (
            worker,
            lease_seconds,
            [row.task_id for row in rows],
            [row.attempt for row in rows],
            [row.token for row in rows],
        ),
    )


async def extend(
    connection: Connection,
    items: Sequence[WorkItem],
    lease_seconds: float,
    late_seconds: float,
) -> set[str]:
    """Extend the leases of *items* and return the tokens that still hold.

    A lease is lost when its task was cancelled, taken over, or is too long past its deadline.
    """
    cursor = await connection.execute(
        "update work_items w set lease_until = clock_timestamp() + make_interval(secs => %s)"
        + _HELD
        + " and w.deadline_at + make_interval(secs => %s) > caseops.now()"
        " returning w.lease_token",
        (lease_seconds, *_tokens(items), late_seconds),
    )
    return {row[0] async for row in cursor}


async def release(connection: Connection, items: Sequence[WorkItem]) -> None:
    """Let the leases of *items* run out now, so that another worker can go on."""
    await connection.execute(
        "update work_items w set lease_until = clock_timestamp()" + _HELD, _tokens(items)
    )


async def finish(connection: Connection, items: Sequence[WorkItem]) -> set[str]:
    """Close the rows of *items* whose lease still holds; return the tokens of these leases.

    A token that is missing in the answer was lost: its result must not count (SCHED-10).
    """
    cursor = await connection.execute(
        "update work_items w set state = 'done', lease_token = null, task_token = null"
        + _HELD
        + " returning u.token",
        _tokens(items),
    )
    return {row[0] async for row in cursor}


async def versions(connection: Connection, items: Sequence[WorkItem]) -> dict[str, int]:
    """Return the stream version of each task of *items*."""
    cursor = await connection.execute(
        f"select w.task_id, {_VERSION} from work_items w where task_id = any(%s)",
        ([item.task_id for item in items],),
    )
    return {row[0]: row[1] async for row in cursor}


async def count_open(connection: Connection, specialist: str) -> int:
    """Return how many rows wait or are worked on."""
    cursor = await connection.execute(
        "select count(*) from work_items where specialist = %s"
        " and state in ('waiting', 'leased')",
        (specialist,),
    )
    row = await cursor.fetchone()
    return row[0] if row else 0


def _tokens(items: Sequence[WorkItem]) -> tuple[list[str], list[str | None]]:
    rows = sorted(items, key=lambda item: item.task_id)
    return [item.task_id for item in rows], [item.lease_token for item in rows]
