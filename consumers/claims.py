"""Which records of a batch are new: progress, duplicates and reused ids. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from consumers.decider import Intent, Message
from consumers.sorting import Record, letter, record_id
from infra.inbox import Partition
from infra.unit_of_work import Batch, Claim, Progress


@dataclass(slots=True)
class Reacted:
    """One message with the commands that follow from it."""

    record: Record
    message: Message
    intents: list[Intent]


@dataclass(slots=True)
class Ahead:
    """Batches with nothing of ours, passed over in memory: written with the next real one."""

    progress: dict[Partition, Progress] = field(default_factory=dict)
    skips: Counter[tuple[str, int, str]] = field(default_factory=Counter)

    def onto(self, rows: Sequence[Progress]) -> list[Progress]:
        """Return *rows* beginning where the store still stands, and the rest that waits."""
        moved = {(row.topic, row.partition): row for row in rows}
        for place, waiting in self.progress.items():
            row = moved.get(place, waiting)
            moved[place] = replace(row, expected=waiting.expected)
        return [moved[place] for place in sorted(moved)]

    def keep(self, batch: Batch) -> None:
        """Take over progress and skips of a batch that is not written now."""
        self.progress = {(row.topic, row.partition): row for row in batch.progress}
        self.skips += batch.skips

    def batch(self, consumer: str) -> Batch:
        """Return what waits as a batch of its own."""
        return Batch(consumer, progress=list(self.progress.values()), skips=self.skips)

    def clear(self) -> None:
        """Forget what waited."""
        self.progress = {}
        self.skips = Counter()


def place_of(record: Record) -> Partition:
    """Return topic and partition of *record*."""
    return record.topic, record.partition


def not_handled(records: Sequence[Record], stored: Mapping[Partition, int]) -> list[Record]:
    """Return the records at or above what is handled: the rest had its effect before."""
    return [r for r in records if r.offset >= stored.get(place_of(r), 0)]


def progress(records: Sequence[Record], stored: Mapping[Partition, int]) -> list[Progress]:
    """Return how far *records* move each partition beyond *stored*."""
    last: dict[Partition, Record] = {}
    for record in records:
        last[place_of(record)] = record
    return [
        Progress(*place, stored.get(place, 0), record.offset + 1, record_id(record))
        for place, record in sorted(last.items())
    ]


def after(batch: Batch) -> dict[Partition, int]:
    """Return the next offsets once *batch* is committed."""
    return {(row.topic, row.partition): row.next_offset for row in batch.progress}


def to_claim(row: Reacted) -> Claim:
    """Return the inbox claim of a message: tenant, source and id name it."""
    envelope, record = row.message.envelope, row.record
    return Claim(
        envelope.tenantid or "-",
        envelope.source,
        envelope.id,
        row.message.digest,
        record.topic,
        record.partition,
        record.offset,
    )


def unclaimed(
    batch: Batch, rows: Sequence[Reacted], seen: Mapping[tuple[str, str, str], bytes]
) -> list[Reacted]:
    """Return rows nobody claimed; a repeat is a skip, another body under the id is parked."""
    known = dict(seen)
    kept = []
    for row in rows:
        claim = to_claim(row)
        name = (claim.tenant, claim.source, claim.id)
        if name not in known:
            known[name] = claim.digest
            kept.append(row)
        elif known[name] == claim.digest:
            batch.skips[row.record.topic, row.record.partition, "duplicate"] += 1
        else:
            detail = "the same source and id came before with another body"
            batch.dead_letters.append(
                letter(row.record, "ID_REUSED", detail, row.message.envelope)
            )
    return kept
