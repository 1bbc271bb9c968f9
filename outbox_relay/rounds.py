"""Which rows may travel together; pure.

Topics and partitions of one round are acknowledged independently, so a round must not need
an order among them. Within a topic, rows of a key share a partition, and one batch per
partition and round keeps them in order. Across topics the rule is: in one round a key has rows of
the event log, or rows of other topics, never both. A command or completion thus never
overtakes the fact before it, and a fact never overtakes the order before it. Orders of one
key to different addressees do ride together: nobody reads two command topics.
"""

from collections.abc import Sequence

from infra.outbox import OutboxRow


def split_round(
    rows: Sequence[OutboxRow], log_topic: str
) -> tuple[list[OutboxRow], list[OutboxRow]]:
    """Return the rows that go now and those that wait for them, each in position order."""
    of_log: dict[bytes, bool] = {}
    closed: set[bytes] = set()
    now: list[OutboxRow] = []
    later: list[OutboxRow] = []
    for row in rows:
        on_log = row.topic == log_topic
        if (
            row.order_key not in closed
            and of_log.setdefault(row.order_key, on_log) == on_log
        ):
            now.append(row)
        else:
            closed.add(row.order_key)
            later.append(row)
    return now, later


def heads_of(rows: Sequence[OutboxRow], topic: str) -> list[OutboxRow]:
    """Return the first row of each lane of *topic*: those the others wait behind."""
    heads: dict[bytes, OutboxRow] = {}
    for row in rows:
        if row.topic == topic:
            heads.setdefault(row.order_key, row)
    return list(heads.values())
