"""Where a consumer stands in each partition, and whether the log is still the one it knew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from consumers.claims import place_of
from consumers.sorting import Record, record_id
from infra.database import Pool, translated
from infra.errors import MustStop
from infra.inbox import Partition, read_progress, start_progress

Bounds = tuple[int, int]
"""First offset of a partition, and the offset after its last."""


@dataclass(slots=True)
class Positions:
    """The stored positions of the assigned partitions of one consumer.

    *handled* is shared with the consumer's handler, which moves it after each commit.
    *must_be_told*: topics on which a new consumer may not begin by itself when they hold records.
    """

    consumer: str
    pool: Pool
    handled: dict[Partition, int]
    must_be_told: frozenset[str] = frozenset()
    start_at: str | None = None
    _verify: dict[Partition, tuple[int, str]] = field(default_factory=dict)

    def forget(self) -> None:
        """Drop what was assigned; the next assignment reads the store again."""
        self.handled.clear()
        self._verify.clear()

    def next_fetch(self, place: Partition) -> int | None:
        """Return where to read *place* from, None when it is not assigned."""
        if place in self._verify:
            return self._verify[place][0]
        return self.handled.get(place)

    async def take(self, bounds: Mapping[Partition, Bounds]) -> dict[Partition, int]:
        """Return where to seek for each partition; raise `MustStop` when the log is not ours."""
        async with translated(), self.pool.connection() as connection:
            stored = await read_progress(connection, self.consumer, bounds)
            fresh = {p: self._first(p, bounds[p]) for p in bounds if p not in stored}
            await start_progress(connection, self.consumer, fresh)
        self.handled.update(fresh)
        seeks = dict(fresh)
        for place, (offset, last) in stored.items():
            self.handled[place] = offset
            seeks[place] = self._seek(place, offset, last, bounds[place])
        return seeks

    def _first(self, place: Partition, bounds: Bounds) -> int:
        start, end = bounds
        if place[0] not in self.must_be_told or end == 0:
            return start
        if self.start_at is None:
            raise MustStop(
                "NEW_CONSUMER",
                f"{self.consumer} is new on {place[0]}, which already holds events",
                "Set CASEOPS_START_NEW_CONSUMERS_AT to earliest or latest.",
            )
        return start if self.start_at == "earliest" else end

    def _seek(self, place: Partition, offset: int, last: str | None, bounds: Bounds) -> int:
        start, end = bounds
        if offset < start:
            raise MustStop(
                "LOG_TRUNCATED",
                f"{self.consumer}: next offset {offset} of {place[0]}/{place[1]} is below {start}",
                "Records were deleted before they were handled; see docs/operations.",
            )
        if offset > end:
            raise _replaced(self.consumer, place)
        if last is None or offset - 1 < start:
            return offset
        self._verify[place] = (offset - 1, last)
        return offset - 1

    def checked(self, records: Sequence[Record]) -> Sequence[Record]:
        """Return *records* without the ones re-read; raise when they are not what we handled."""
        if not self._verify:
            return records
        again = set()
        for record in records:
            known = self._verify.pop(place_of(record), None)
            if known is None:
                continue
            offset, identity = known
            if record.offset < offset or (
                record.offset == offset and record_id(record) != identity
            ):
                raise _replaced(self.consumer, place_of(record))
            again.add((*place_of(record), offset))
        return [r for r in records if (*place_of(r), r.offset) not in again]


def _replaced(consumer: str, place: Partition) -> MustStop:
    return MustStop(
        "LOG_REPLACED",
        f"{consumer}: {place[0]}/{place[1]} is not the topic that was read before",
        "The topic was deleted and made again; see docs/operations before starting.",
    )
