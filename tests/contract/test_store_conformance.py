"""What the store promises, on the twin of the simulation and on PostgreSQL alike."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import psycopg
import pytest

from event_schemas.ids import event_id
from infra import database
from infra.errors import ConcurrentWrite, NotPermitted, Poison
from infra.event_log import Fact, Recorded, load_streams
from infra.inbox import seen_claims, start_progress
from infra.unit_of_work import Batch, Claim, DeadLetter, Outgoing, Progress, write
from tests.support.builders import BEGAN
from tests.support.store import log_of, rows
from tests.support.twin import TwinStore

PLACE = ("caseops.events", 0)
CONSUMER = "supervisor"
Answer = TypeVar("Answer")


class Store(Protocol):
    """A store under test, seen as a consumer sees it."""

    async def start(self) -> None:
        """Let the consumer begin at offset 0 of its one partition."""

    async def write(self, batch: Batch) -> None:
        """Write *batch*, all or nothing."""

    async def load(self, after: dict[str, int]) -> dict[str, list[Recorded]]:
        """Return the events of streams above the given versions."""

    async def events(self) -> Sequence[tuple[str | None, int | None, str]]:
        """Return key, sequence and id of all events in order."""

    async def outbox(self) -> Sequence[tuple[str, bytes | None]]:
        """Return topic and key of what is to publish, in order."""

    async def seen(self, claims: Sequence[Claim]) -> dict[tuple[str, str, str], bytes]:
        """Return the digests of claims that exist."""

    async def counts(self) -> tuple[int, int, int]:
        """Return next offset, counted skips, dead letters."""


@dataclass(slots=True)
class OnTwin:
    """The twin."""

    store: TwinStore

    async def start(self) -> None:
        """Begin at offset 0."""
        self.store.start_progress(CONSUMER, [PLACE])

    async def write(self, batch: Batch) -> None:
        """Write *batch*."""
        self.store.write(batch)

    async def load(self, after: dict[str, int]) -> dict[str, list[Recorded]]:
        """Return events by stream."""
        return self.store.load(after)

    async def events(self) -> Sequence[tuple[str | None, int | None, str]]:
        """Return all events."""
        found = [each.envelope for each in self.store.events]
        return [(each.partitionkey, each.sequence, each.id) for each in found]

    async def outbox(self) -> Sequence[tuple[str, bytes | None]]:
        """Return what is to publish."""
        return [(row.topic, row.key) for row in self.store.first_rows(1000)]

    async def seen(self, claims: Sequence[Claim]) -> dict[tuple[str, str, str], bytes]:
        """Return known digests."""
        return self.store.seen(CONSUMER, [(c.tenant, c.source, c.id) for c in claims])

    async def counts(self) -> tuple[int, int, int]:
        """Return what was counted."""
        at = self.store.progress[CONSUMER, *PLACE]
        return at, self.store.skips.total(), len(self.store.dead_letters)


@dataclass(slots=True)
class OnPostgres:
    """The real one, as the role of the consumer's service."""

    url: str

    async def start(self) -> None:
        """Begin at offset 0."""
        await self._asked(lambda c: start_progress(c, CONSUMER, {PLACE: 0}))

    async def write(self, batch: Batch) -> None:
        """Write *batch*."""
        await self._asked(lambda c: write(c, batch))

    async def load(self, after: dict[str, int]) -> dict[str, list[Recorded]]:
        """Return events by stream."""
        return await self._asked(lambda c: load_streams(c, after))

    async def events(self) -> Sequence[tuple[str | None, int | None, str]]:
        """Return all events."""
        found = await log_of(self.url)
        return [(each.partitionkey, each.sequence, each.id) for each in found]

    async def outbox(self) -> Sequence[tuple[str, bytes | None]]:
        """Return what is to publish."""
        found = await rows(
            self.url, "select topic, message_key from outbox order by position"
        )
        return [(topic, key and bytes(key)) for topic, key in found]

    async def seen(self, claims: Sequence[Claim]) -> dict[tuple[str, str, str], bytes]:
        """Return known digests."""
        return await self._asked(lambda c: seen_claims(c, CONSUMER, claims))

    async def counts(self) -> tuple[int, int, int]:
        """Return what was counted."""
        [(at, skips, letters)] = await rows(
            self.url,
            "select (select next_offset from consumer_progress),"
            " (select coalesce(sum(count), 0)::int from skips), count(*) from dead_letters",
        )
        return at, skips, letters

    async def _asked(self, ask: Callable[[Any], Coroutine[Any, Any, Answer]]) -> Answer:
        connection = await database.connect(self.url, CONSUMER)
        async with connection:
            return await ask(connection)


@pytest.fixture(params=["twin", "postgresql"])
def store(request: pytest.FixtureRequest) -> Store:
    """Give each store, empty."""
    if request.param == "twin":
        return OnTwin(TwinStore())
    return OnPostgres(request.getfixturevalue("database"))


def a_fact(version: int = 1, key: str = "k", **changes: Any) -> Fact:
    """Return a fact of the supervisor's stream under *key*."""
    stream = f"run/{key}"
    plain = Fact(
        id=event_id(stream, version),
        key=key,
        stream=stream,
        streamversion=version,
        type="dev.caseops.run.status_changed.v1",
        writer=CONSUMER,
        time=BEGAN,
        tenant="prod-cn",
        runid=key,
        correlationid=key,
        causationid="cause",
        traceparent=None,
        planversion=None,
        dataschema="urn:x",
        data=b"{}",
        topics=("caseops.events",),
    )
    return replace(plain, **changes)


def a_claim(name: str = "m", digest: bytes = b"d") -> Claim:
    """Return a claim of the message *name*."""
    return Claim("prod-cn", "/s", name, digest, *PLACE, 0)


def moved(expected: int, to: int) -> list[Progress]:
    """Return progress of the one partition."""
    return [Progress(*PLACE, expected, to, f"at-{to}")]


async def test_sequences_are_contiguous_per_key(store: Store) -> None:
    """SHAPE-12: from 1, without holes, over batches and interleaved keys."""
    await store.write(Batch(CONSUMER, facts=[a_fact(1), a_fact(1, "j"), a_fact(2)]))
    await store.write(Batch(CONSUMER, facts=[a_fact(2, "j"), a_fact(3)]))

    assert [("k", 1), ("j", 1), ("k", 2), ("j", 2), ("k", 3)] == [
        (key, sequence) for key, sequence, _ in await store.events()
    ]


async def test_a_stream_is_read_back_above_a_version(store: Store) -> None:
    """In order of version, byte for byte, and nothing of other streams."""
    facts = [a_fact(1, data=b'{ "a":1}'), a_fact(2), a_fact(1, "j")]
    await store.write(Batch(CONSUMER, facts=facts))
    found = await store.load({"run/k": 0, "run/j": 1, "run/none": 0})

    assert {"run/k": [1, 2], "run/j": [], "run/none": []} == {
        stream: [each.envelope.streamversion for each in events]
        for stream, events in found.items()
    }
    assert b'{ "a":1}' == found["run/k"][0].envelope.data
    assert ("/caseops/supervisor", BEGAN, "cause") == (
        found["run/k"][0].envelope.source,
        found["run/k"][0].envelope.time,
        found["run/k"][0].envelope.causationid,
    )


async def test_a_stream_version_is_taken_once(store: Store) -> None:
    """Two decisions on the same version: the second one has to read again."""
    await store.write(Batch(CONSUMER, facts=[a_fact(1)]))
    with pytest.raises(ConcurrentWrite):
        await store.write(Batch(CONSUMER, facts=[a_fact(2), a_fact(1)]))

    assert 1 == len(await store.events())


async def test_a_stream_that_was_only_read_must_not_have_moved(store: Store) -> None:
    """A guard names the version that a decision to do nothing rests on."""
    await store.write(Batch(CONSUMER, facts=[a_fact(1)]))
    await store.write(Batch(CONSUMER, facts=[a_fact(1, "j")], guards={"run/k": 1}))
    with pytest.raises(ConcurrentWrite):
        await store.write(Batch(CONSUMER, facts=[a_fact(2, "j")], guards={"run/k": 0}))

    assert 2 == len(await store.events())


async def test_a_message_is_claimed_once(store: Store) -> None:
    """EVT-06: by consumer, tenant, source and id; the digest tells another body."""
    other = a_claim("n", b"e")
    await store.write(Batch(CONSUMER, claims=[a_claim()]))
    with pytest.raises(ConcurrentWrite):
        await store.write(Batch(CONSUMER, claims=[other, a_claim()]))

    assert {("prod-cn", "/s", "m"): b"d"} == await store.seen([a_claim(), other])


async def test_progress_moves_only_from_where_it_stands(store: Store) -> None:
    """A zombie writes nothing, and a partition nobody started stands nowhere."""
    with pytest.raises(ConcurrentWrite):
        await store.write(Batch(CONSUMER, progress=moved(0, 3)))
    await store.start()
    await store.write(Batch(CONSUMER, progress=moved(0, 3)))
    with pytest.raises(ConcurrentWrite):
        await store.write(Batch(CONSUMER, progress=moved(0, 5), facts=[a_fact(1)]))
    await store.start()

    assert (3, 0, 0) == await store.counts()
    assert [] == await store.events()


def a_letter(reason: str = "TOMBSTONE") -> DeadLetter:
    """Return a dead letter at one place."""
    return DeadLetter(*PLACE, 7, None, [("h", None)], None, "-", "kafka", "7", reason, "d")


async def test_a_batch_is_written_whole_or_not_at_all(store: Store) -> None:
    """Progress, claims, facts, outbox, skips and letters: one guard that fails drops all."""
    out = Outgoing("dead_letter", b"o", "caseops.dlq.x", None, [("h", None)], None)
    batch = Batch(
        CONSUMER,
        progress=moved(0, 3),
        claims=[a_claim()],
        facts=[a_fact(1)],
        outgoing=[out],
        dead_letters=[a_letter()],
    )
    batch.skips[(*PLACE, "other_type")] = 2
    await store.start()
    with pytest.raises(ConcurrentWrite):
        await store.write(replace(batch, progress=moved(1, 3)))
    refused = (await store.events(), await store.outbox(), await store.counts())
    await store.write(batch)

    assert ([], [], (0, 0, 0)) == refused
    assert (3, 2, 1) == await store.counts()
    assert [("caseops.events", b"k"), ("caseops.dlq.x", None)] == await store.outbox()
    assert {("prod-cn", "/s", "m"): b"d"} == await store.seen([a_claim()])


async def test_a_record_parked_again_is_one_letter(store: Store) -> None:
    """A place in a topic holds one record, however often it is parked."""
    await store.start()
    await store.write(Batch(CONSUMER, dead_letters=[a_letter()]))
    await store.write(Batch(CONSUMER, dead_letters=[a_letter("HANDLER_FAILED")]))

    assert (0, 0, 1) == await store.counts()


async def test_what_is_published_keeps_the_order_of_the_facts(store: Store) -> None:
    """Each fact on each of its topics, in order, and then what is not on the log."""
    both = ("caseops.events", "caseops.completions")
    order = Outgoing("command", b"k", "caseops.commands.logs", b"k", [], b"{}")
    facts = [a_fact(1, topics=both), a_fact(2)]
    await store.write(Batch(CONSUMER, facts=facts, outgoing=[order]))

    assert [*both, "caseops.events", "caseops.commands.logs"] == [
        topic for topic, _ in await store.outbox()
    ]


async def test_a_fact_that_is_too_large_is_poison(store: Store) -> None:
    """256 KiB is the limit, and what comes with it is not written either."""
    large = a_fact(2, data=b"x" * (256 * 1024 + 1))
    with pytest.raises(Poison):
        await store.write(Batch(CONSUMER, facts=[a_fact(1), large]))
    await store.write(Batch(CONSUMER, facts=[a_fact(1, data=b"x" * (256 * 1024))]))

    assert 1 == len(await store.events())


async def test_events_are_only_ever_added(store: Store) -> None:
    """DEL-10: what was read once is read for ever; the role may neither change nor remove."""
    await store.write(Batch(CONSUMER, facts=[a_fact(1)]))
    before = await store.load({"run/k": 0})
    if isinstance(store, OnPostgres):
        for change in ("update events set tenant = 'x'", "delete from events"):
            with pytest.raises(NotPermitted):
                await _forbidden(store, change)
    await store.write(Batch(CONSUMER, facts=[a_fact(2)]))

    assert before["run/k"] == (await store.load({"run/k": 0}))["run/k"][:1]


async def _forbidden(store: OnPostgres, change: str) -> None:
    connection: psycopg.AsyncConnection[Any] = await database.connect(store.url, CONSUMER)
    async with connection, database.translated():
        await connection.execute(change.encode())
