"""How far each view has folded each log key: a projector's inbox."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from infra.database import Connection


@dataclass(frozen=True, slots=True)
class KeyProgress:
    """The last folded sequence of a key, and why the key is held back, if it is."""

    sequence: int = 0
    held: str | None = None


async def lock_keys(
    connection: Connection, view: str, keys: Collection[str]
) -> dict[str, KeyProgress]:
    """Lock the rows of *keys* (sorted) and return them; unknown keys are at sequence 0."""
    wanted = sorted(keys)
    cursor = await connection.execute(
        "select key, sequence, held from view_progress where view = %s and key = any(%s)"
        " order by key for update",
        (view, wanted),
    )
    found = {row[0]: KeyProgress(row[1], row[2]) async for row in cursor}
    return {key: found.get(key) or KeyProgress() for key in wanted}


async def lock_held(
    connection: Connection, view: str, limit: int
) -> dict[str, KeyProgress]:
    """Lock and return held keys that nobody else is working on."""
    cursor = await connection.execute(
        "select key, sequence, held from view_progress where view = %s and held is not null"
        " order by key limit %s for update skip locked",
        (view, limit),
    )
    return {row[0]: KeyProgress(row[1], row[2]) async for row in cursor}


async def save_keys(
    connection: Connection, view: str, changed: Mapping[str, KeyProgress]
) -> None:
    """Write the progress of the *changed* keys."""
    keys = sorted(changed)
    await connection.execute(
        "insert into view_progress (view, key, sequence, held)"
        " select %s, u.* from unnest(%s::text[], %s::bigint[], %s::text[])"
        " u(key, sequence, held) on conflict (view, key)"
        " do update set sequence = excluded.sequence, held = excluded.held",
        (
            view,
            keys,
            [changed[key].sequence for key in keys],
            [changed[key].held for key in keys],
        ),
    )
