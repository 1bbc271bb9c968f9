"""What became of the records each consumer has handled, counted from the store."""

from collections import defaultdict
from dataclasses import dataclass, field

from infra.database import Connection, translated

Place = tuple[str, str]
"""Consumer and full topic name."""

_COUNTS = """
select 'handled', consumer, topic, partition::text, next_offset from consumer_progress
union all
select 'claims', consumer, topic, '', count(*) from inbox group by consumer, topic
union all
select 'letters', consumer, topic, '', count(*) from dead_letters group by consumer, topic
union all
select 'skips', consumer, topic, reason, sum(count)::bigint from skips
 group by consumer, topic, reason
"""


@dataclass(slots=True)
class Account:
    """One consumer on one topic: positions by partition, claims, letters, counts by reason."""

    positions: dict[int, int] = field(default_factory=dict)
    claims: int = 0
    letters: int = 0
    skips: dict[str, int] = field(default_factory=dict)


async def accounts(connection: Connection) -> dict[Place, Account]:
    """Return the account of every consumer and topic, all from one snapshot."""
    found: dict[Place, Account] = defaultdict(Account)
    async with translated():
        cursor = await connection.execute(_COUNTS)
        async for kind, consumer, topic, detail, count in cursor:
            account = found[consumer, topic]
            if kind == "handled":
                account.positions[int(detail)] = count
            elif kind == "skips":
                account.skips[detail] = int(count)
            elif kind == "claims":
                account.claims = count
            else:
                account.letters = count
    return dict(found)
