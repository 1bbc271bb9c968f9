"""An in-memory twin of the store and the topics: what the real ones promise, without them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from event_schemas.codec import MAX_DATA_BYTES, Headers, encode_headers
from event_schemas.envelope import Envelope
from infra.errors import ConcurrentWrite, Poison
from infra.event_log import Fact, Recorded
from infra.inbox import Partition
from infra.unit_of_work import Batch, DeadLetter
from tests.support.records import RawRecord


class TwinRow(NamedTuple):
    """One outbox row: a record to publish."""

    position: int
    topic: str
    key: bytes | None
    headers: Headers
    value: bytes | None


@dataclass(slots=True)
class TwinStore:
    """The tables of an installation; `write` is all or nothing, facts are only ever added.

    *tables* holds the services' own rows by table name, written beside a batch.
    """

    events: list[Recorded] = field(default_factory=list)
    streams: dict[str, list[Recorded]] = field(default_factory=lambda: defaultdict(list))
    versions: set[tuple[str, int]] = field(default_factory=set)
    sequences: Counter[str] = field(default_factory=Counter)
    inbox: dict[tuple[str, str, str, str], bytes] = field(default_factory=dict)
    progress: dict[tuple[str, str, int], int] = field(default_factory=dict)
    outbox: dict[int, TwinRow] = field(default_factory=dict)
    skips: Counter[tuple[str, str, int, str]] = field(default_factory=Counter)
    dead_letters: dict[tuple[str, str, int, int], DeadLetter] = field(default_factory=dict)
    tables: dict[str, dict[Any, Any]] = field(default_factory=lambda: defaultdict(dict))
    published: int = 0

    def write(self, batch: Batch) -> None:
        """Write *batch*, or raise `ConcurrentWrite` or `Poison` and write nothing."""
        self._refuse_stale(batch)
        self._refuse_taken(batch)
        for row in batch.progress:
            self.progress[batch.consumer, row.topic, row.partition] = row.next_offset
        for claim in batch.claims:
            name = (batch.consumer, claim.tenant, claim.source, claim.id)
            self.inbox[name] = claim.digest
        for fact in batch.facts:
            self._append(fact)
        for out in batch.outgoing:
            self._publish(out.topic, out.message_key, out.headers, out.value)
        for (topic, partition, reason), count in batch.skips.items():
            self.skips[batch.consumer, topic, partition, reason] += count
        for dead in batch.dead_letters:
            place = (batch.consumer, dead.topic, dead.partition, dead.offset)
            self.dead_letters[place] = dead

    def start_progress(self, consumer: str, places: Iterable[Partition]) -> None:
        """Let *consumer* begin at offset 0 of *places* it has no progress of."""
        for topic, partition in places:
            self.progress.setdefault((consumer, topic, partition), 0)

    def seen(
        self, consumer: str, names: Iterable[tuple[str, str, str]]
    ) -> dict[tuple[str, str, str], bytes]:
        """Return (tenant, source, id) -> body digest of the claims that exist already."""
        found = ((name, self.inbox.get((consumer, *name))) for name in names)
        return {name: digest for name, digest in found if digest is not None}

    def load(self, after: Mapping[str, int]) -> dict[str, list[Recorded]]:
        """Return for each stream its events above the given version, in order."""
        return {
            stream: [
                event
                for event in self.streams.get(stream, ())
                if (event.envelope.streamversion or 0) > above
            ]
            for stream, above in after.items()
        }

    def first_rows(self, count: int) -> list[TwinRow]:
        """Return the oldest outbox rows."""
        return list(islice(self.outbox.values(), count))

    def _refuse_stale(self, batch: Batch) -> None:
        for row in batch.progress:
            place = (batch.consumer, row.topic, row.partition)
            if self.progress.get(place) != row.expected:
                raise ConcurrentWrite("guard")
        if any((stream, at + 1) in self.versions for stream, at in batch.guards.items()):
            raise ConcurrentWrite("guard")

    def _refuse_taken(self, batch: Batch) -> None:
        claims = [(batch.consumer, c.tenant, c.source, c.id) for c in batch.claims]
        if len(set(claims)) < len(claims) or any(name in self.inbox for name in claims):
            raise ConcurrentWrite("inbox_pkey")
        places = [(fact.stream, fact.streamversion) for fact in batch.facts]
        if not self.versions.isdisjoint(places) or len(set(places)) < len(places):
            raise ConcurrentWrite("events_stream_version")
        if any(len(fact.data) > MAX_DATA_BYTES for fact in batch.facts):
            raise Poison("DATABASE_REFUSED", "the data of an event is too large")

    def _append(self, fact: Fact) -> None:
        self.sequences[fact.key] += 1
        envelope = _envelope(fact, self.sequences[fact.key])
        recorded = Recorded(len(self.events) + 1, fact.writer, envelope)
        self.events.append(recorded)
        self.streams[fact.stream].append(recorded)
        self.versions.add((fact.stream, fact.streamversion))
        key, headers = fact.key.encode(), encode_headers(envelope)
        for topic in fact.topics:
            self._publish(topic, key, headers, fact.data)

    def _publish(
        self, topic: str, key: bytes | None, headers: Headers, value: bytes | None
    ) -> None:
        self.published += 1
        row = TwinRow(self.published, topic, key, headers, value)
        self.outbox[row.position] = row


def _envelope(fact: Fact, sequence: int) -> Envelope:
    return Envelope(
        id=fact.id,
        source=f"/caseops/{fact.writer}",
        type=fact.type,
        time=fact.time,
        data=fact.data,
        subject=fact.stream,
        dataschema=fact.dataschema,
        tenantid=fact.tenant,
        runid=fact.runid,
        correlationid=fact.correlationid,
        causationid=fact.causationid,
        partitionkey=fact.key,
        sequence=sequence,
        streamversion=fact.streamversion,
        planversion=fact.planversion,
        traceparent=fact.traceparent,
    )


@dataclass(slots=True)
class TwinTopics:
    """The topics: records in partitions, never removed, a key always in the same one."""

    partitions: int = 2
    sent: int = 0
    records: dict[Partition, list[RawRecord]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def send(
        self, topic: str, key: bytes | None, headers: Headers, value: bytes | None
    ) -> None:
        """Append one record to its partition of *topic* (the full name)."""
        place = (topic, sum(key or b"") % self.partitions)
        log = self.records[place]
        self.sent += 1
        log.append(RawRecord(topic, place[1], len(log), key, value, headers))

    def places(self, topic: str) -> list[Partition]:
        """Return the partitions of *topic*."""
        return [(topic, number) for number in range(self.partitions)]


@dataclass(slots=True)
class World:
    """Everything outside the processes: store, topics, the time, the artifacts that broke."""

    now: datetime
    store: TwinStore = field(default_factory=TwinStore)
    topics: TwinTopics = field(default_factory=TwinTopics)
    broken: Mapping[str, str | None] = field(default_factory=dict)

    def log(self, topic: str) -> list[RawRecord]:
        """Return all records of *topic* (the full name), partition by partition."""
        return [
            r for place in self.topics.places(topic) for r in self.topics.records[place]
        ]
