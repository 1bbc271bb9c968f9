"""The pure rules of the relay: rounds, refusals, fair shares, partitions, own records."""

from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka import errors
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from event_schemas.codec import encode_headers
from event_schemas.envelope import Envelope
from infra.event_log import recorded
from infra.outbox import OutboxRow, Window, log_headers
from outbox_relay.delivery import key_hash
from outbox_relay.log_check import own_id
from outbox_relay.refusals import PATIENCE, Unsendable, refusal_of
from outbox_relay.rounds import heads_of, split_round
from outbox_relay.slices import SLICES, fair_share

LOG = "caseops.events"
COMMANDS = "caseops.commands.logs"
COMPLETIONS = "caseops.completions"


def a_row(position: int, key: str, topic: str, **changes: Any) -> OutboxRow:
    """Return an outbox row."""
    row = OutboxRow(position, "log", topic, key.encode(), key.encode(), b"{}", ())
    return row._replace(**changes)


def positions(rows: list[OutboxRow]) -> list[int]:
    """Return the positions of *rows*."""
    return [row.position for row in rows]


def test_rows_of_the_log_travel_together() -> None:
    """All rows on the log topic go in one round, whatever their keys."""
    rows = [a_row(1, "a", LOG), a_row(2, "b", LOG), a_row(3, "a", LOG)]

    now, later = split_round(rows, LOG)

    assert ([1, 2, 3], []) == (positions(now), positions(later))


def test_a_completion_waits_for_the_log() -> None:
    """A row of another topic, and what follows it, waits until the log took the fact."""
    rows = [a_row(1, "a", LOG), a_row(2, "a", COMPLETIONS), a_row(3, "a", LOG)]

    now, later = split_round(rows, LOG)

    assert ([1], [2, 3]) == (positions(now), positions(later))


def test_another_key_does_not_wait() -> None:
    """Keys are independent: a command of one key rides with the facts of another."""
    rows = [a_row(1, "a", LOG), a_row(2, "b", COMMANDS), a_row(3, "a", COMMANDS)]

    now, later = split_round(rows, LOG)

    assert ([1, 2], [3]) == (positions(now), positions(later))


KEYS_AND_TOPICS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([LOG, COMMANDS, COMPLETIONS]))
)


@given(KEYS_AND_TOPICS)
def test_rounds_keep_the_order_between_log_and_others(
    drawn: list[tuple[str, str]],
) -> None:
    """Every row is sent once; no row shares or precedes the round of an older fact it follows."""
    rows = [a_row(n, key, topic) for n, (key, topic) in enumerate(drawn)]
    round_of: dict[int, int] = {}
    pending, number = rows, 0
    while pending:
        now, pending = split_round(pending, LOG)
        round_of |= {row.position: number for row in now}
        number += 1

    for earlier in rows:
        for later in rows[earlier.position + 1 :]:
            if earlier.order_key == later.order_key:
                crosses = (earlier.topic == LOG) != (later.topic == LOG)
                gap = round_of[later.position] - round_of[earlier.position]
                assert gap >= crosses


def test_the_first_row_of_each_lane_is_its_head() -> None:
    """Only the first row of a key in the refused topic is parked; the others wait behind it."""
    rows = [a_row(1, "a", LOG), a_row(2, "a", COMMANDS), a_row(3, "a", COMMANDS)]
    rows.append(a_row(4, "b", COMMANDS))

    assert [2, 4] == positions(heads_of(rows, COMMANDS))


@pytest.mark.parametrize(
    ("error", "whole_topic"),
    [
        (errors.MessageSizeTooLargeError(), False),
        (Unsendable("headers"), False),
        (errors.TopicAuthorizationFailedError("t"), True),
        (errors.InvalidTopicError(), True),
        (errors.UnknownTopicOrPartitionError("t"), True),
    ],
)
def test_refusals(error: Exception, whole_topic: bool) -> None:  # noqa: FBT001
    """A verdict on record or topic is a refusal at the first answer."""
    refusal = refusal_of(error)

    assert refusal is not None
    assert whole_topic == refusal.whole_topic


@pytest.mark.parametrize(
    "error",
    [
        errors.KafkaConnectionError(),
        errors.KafkaTimeoutError(),
        errors.NotLeaderForPartitionError(),
        errors.RequestTimedOutError(),
        errors.NotEnoughReplicasError(),
        errors.OutOfOrderSequenceNumber(),
        errors.ProducerFenced(),
        AssertionError("Unrecognized partition"),
    ],
)
def test_transient_errors_never_condemn_a_row(error: Exception) -> None:
    """What a broker may yet take is tried again without end."""
    assert refusal_of(error, tries=1000) is None


def test_an_unforeseen_answer_is_a_refusal_when_it_repeats() -> None:
    """One record the broker answers oddly cannot hold up all others for ever."""
    verdicts = [refusal_of(errors.UnknownError(), tries) for tries in (1, PATIENCE)]

    assert [False, True] == [verdict is not None for verdict in verdicts]


@pytest.mark.parametrize("relays", [1, 2, 3, 5, 64, 70])
def test_fair_shares_cover_all_slices(relays: int) -> None:
    """Any number of relays owns all slices between them, none more than its part."""
    share = fair_share(relays)

    assert share * relays >= SLICES
    assert (share - 1) * relays < SLICES


@given(st.binary(min_size=1, max_size=60), st.integers(1, 48))
def test_partitions_are_those_of_every_client(key: bytes, count: int) -> None:
    """A key lies in the partition where any Kafka client would put it."""
    numbers = list(range(count))

    assert DefaultPartitioner()(key, numbers, numbers) == key_hash(key) % count


TEXT = st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=20)
MAYBE = st.none() | TEXT
TIMES = st.datetimes(timezones=st.just(UTC), min_value=datetime(1, 1, 1))  # noqa: DTZ001


@given(
    st.tuples(TEXT, st.integers(1, 10**13), TEXT, st.integers(1, 10**6), st.uuids(), TEXT),
    st.tuples(TEXT, TIMES, TEXT, MAYBE, TEXT, MAYBE, MAYBE, st.none() | st.integers(1, 99)),
    TEXT,
)
def test_headers_are_those_of_the_codec(
    first: tuple[Any, ...], second: tuple[Any, ...], schema: str
) -> None:
    """The fast path of log rows writes the same header bytes as the codec. EVT-01."""
    key, sequence, stream, version, identity, kind = first
    source, at, tenant, run, correlation, cause, trace, plan = second
    row = (1, *first, source, "w", at, tenant, run, correlation, cause, trace, plan)
    envelope: Envelope = recorded((*row, schema, b"{}")).envelope
    names = (identity, source, kind)
    texts = (stream, schema, tenant, run, correlation, cause, key)
    attributes = (
        None,
        *map(_bytes, names),
        at,
        *map(_bytes, texts),
        sequence,
        version,
        plan,
        _bytes(trace),
    )

    assert encode_headers(envelope) == log_headers(attributes)


def _bytes(value: object) -> bytes | None:
    return None if value is None else str(value).encode()


def test_broken_headers_are_no_crash() -> None:
    """Headers that are not base64 condemn their row, and only that."""
    row = a_row(1, "a", COMMANDS, kind="command", attributes=('[["x", "%%"]]',))

    with pytest.raises(ValueError, match="base64"):
        row.headers()


def _own(source: bytes, identity: bytes) -> str | None:
    return own_id((("ce_source", source), ("ce_id", identity)))


def test_a_strangers_record_proves_nothing() -> None:
    """Only records of our services count when the log is compared with the store."""
    identity = b"0ee1b5b3-5ba2-5157-b7d2-2430f5db1324"
    found = [
        _own(b"/caseops/intake", identity),
        _own(b"/x", identity),
        _own(b"/caseops/x", b"1"),
    ]

    assert [identity.decode(), None, None] == found


@pytest.mark.parametrize(("size", "filled"), [(1, False), (Window().max_bytes, True)])
def test_a_look_cut_off_by_bytes_is_filled(size: int, filled: bool) -> None:  # noqa: FBT001
    """Few but large rows mean that more may be waiting."""
    assert filled == Window().is_filled_by([a_row(1, "a", LOG, value=b"x" * size)])


def test_one_row_at_the_limit_is_filled() -> None:
    """As many rows as asked for mean that more may be waiting."""
    assert Window(limit=1).is_filled_by([a_row(1, "a", LOG)])
