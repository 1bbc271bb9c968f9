"""Which records of a batch are new: progress, duplicates, reused ids, what waits in memory."""

from collections import Counter
from typing import Any

from consumers.claims import (
    Ahead,
    Reacted,
    after,
    not_handled,
    place_of,
    progress,
    to_claim,
    unclaimed,
)
from consumers.decider import Message
from event_schemas.envelope import Envelope
from infra.unit_of_work import Batch, Progress
from tests.support.builders import an_alert
from tests.support.records import RawRecord, alert_record

PLACE = ("caseops.alerts", 0)


def reacted(offset: int, name: str = "m", digest: bytes = b"d", **more: Any) -> Reacted:
    """Return a record with its message, as the loop has it before deciding."""
    record = alert_record(offset)
    envelope = Envelope(name, "/tests", "t", None, b"", **more)
    return Reacted(record, Message(envelope, an_alert(), "alerts", 0, offset, digest), [])


def offsets(batch: Batch) -> list[tuple[int, str]]:
    """Return offset and reason of the batch's dead letters."""
    return [(dead.offset, dead.reason) for dead in batch.dead_letters]


def test_a_record_is_named_by_its_partition() -> None:
    """Progress is kept per topic and partition."""
    assert PLACE == place_of(alert_record(1))


def test_records_below_the_progress_had_their_effect() -> None:
    """A rewound group does nothing twice; a partition nobody handled starts at 0."""
    records = [alert_record(at) for at in (3, 4, 5)]

    assert records[1:] == not_handled(records, {PLACE: 4})
    assert records == not_handled(records, {})


def test_progress_moves_from_what_is_stored_to_the_last_record() -> None:
    """One row per partition, sorted, with the id of its last record."""
    other = RawRecord("caseops.alerts", 1, 9, None, b"x", [("ce_id", b"last")])
    rows = progress([other, alert_record(3), alert_record(4)], {PLACE: 3})

    assert [
        Progress("caseops.alerts", 0, 3, 5, "event-4"),
        Progress("caseops.alerts", 1, 0, 10, "last"),
    ] == rows
    assert {PLACE: 5, ("caseops.alerts", 1): 10} == after(Batch("c", progress=rows))


def test_a_claim_names_tenant_source_and_id() -> None:
    """EVT-06: with the digest of the body, so that another body is found out."""
    claim = to_claim(reacted(7, tenantid="t"))
    nameless = to_claim(reacted(7))

    assert ("t", "/tests", "m", b"d", 7) == (
        claim.tenant,
        claim.source,
        claim.id,
        claim.digest,
        claim.offset,
    )
    assert "-" == nameless.tenant


def test_a_repeat_is_a_counted_skip() -> None:
    """In the same batch or claimed before: one effect."""
    batch, rows = Batch("c"), [reacted(1), reacted(2), reacted(3, "n")]

    assert [rows[0]] == unclaimed(batch, rows, {("-", "/tests", "n"): b"d"})
    assert Counter({(*PLACE, "duplicate"): 2}) == batch.skips


def test_another_body_under_a_known_id_is_parked() -> None:
    """ID_REUSED: refused aloud, never dropped silently."""
    batch = Batch("c")
    rows = [reacted(1), reacted(2, digest=b"e"), reacted(3, "n", digest=b"e")]

    assert [rows[0]] == unclaimed(batch, rows, {("-", "/tests", "n"): b"d"})
    assert [(2, "ID_REUSED"), (3, "ID_REUSED")] == offsets(batch)


def test_the_same_id_of_another_source_or_tenant_is_another_message() -> None:
    """Only the three together name a message."""
    batch, rows = Batch("c"), [reacted(1, tenantid="a"), reacted(2, tenantid="b")]

    assert rows == unclaimed(batch, rows, {})


def test_what_was_passed_over_is_written_with_the_next_batch() -> None:
    """The next real batch begins where the store still stands."""
    ahead = Ahead()
    waiting = Progress(*PLACE, 0, 5, "a")
    skips = Counter({(*PLACE, "other_type"): 5})
    ahead.keep(Batch("c", progress=[waiting], skips=skips))
    elsewhere = Progress("caseops.events", 0, 0, 1, "b")

    assert [Progress(*PLACE, 0, 7, "c")] == ahead.onto([Progress(*PLACE, 5, 7, "c")])
    assert [waiting, elsewhere] == ahead.onto([elsewhere])
    assert (skips, [waiting]) == (ahead.batch("c").skips, ahead.batch("c").progress)


def test_passing_over_adds_up_until_it_is_forgotten() -> None:
    """Counts of several batches are one row; after a write nothing waits."""
    ahead, skips = Ahead(), Counter({(*PLACE, "other_type"): 2})
    ahead.keep(Batch("c", progress=[Progress(*PLACE, 0, 2, "a")], skips=skips))
    ahead.keep(Batch("c", progress=ahead.onto([Progress(*PLACE, 2, 4, "b")]), skips=skips))

    assert [Progress(*PLACE, 0, 4, "b")] == ahead.batch("c").progress
    assert 4 == ahead.batch("c").skips[(*PLACE, "other_type")]

    ahead.clear()

    assert ([], Counter()) == (ahead.batch("c").progress, ahead.batch("c").skips)
