"""Drafting facts and orders on folded states, and keeping those states by version."""

from datetime import timedelta
from typing import Any

import pytest

from consumers import streams
from consumers.decider import Decider, Intent, Message
from consumers.streams import Drafts, StreamStates
from event_schemas.artifacts import ArtifactStored
from event_schemas.cases import CaseClosed
from event_schemas.codec import decode
from event_schemas.delegations import ExecuteDelegation
from event_schemas.envelope import Envelope
from event_schemas.ids import derived_id, event_id, traceparent
from event_schemas.payload import Payload
from event_schemas.registry import BY_PAYLOAD
from event_schemas.results import ResultStale
from event_schemas.runs import RunCompleted
from infra.errors import Poison
from tests.support.builders import BEGAN, a

KEY = "run-1"
COUNTING = Decider(
    writer="supervisor",
    reads=frozenset(),
    react=lambda _message: [],
    decide=lambda _state, command, _seen, _now: command,
    evolve=lambda state, _event: state + 1,
    initial=lambda: 0,
)


def a_message(name: str = "cause") -> Message:
    """Return the message that leads to a decision."""
    return Message(
        Envelope(name, "/s", "t", BEGAN, b""), a(CaseClosed), "events", 0, 0, b""
    )


def an_intent(*payloads: Payload, stream: str = "run/run-1") -> Intent:
    """Return a command that the counting decider answers with *payloads*."""
    return Intent(list(payloads), stream, KEY, "prod-cn", KEY)


def drafts(states: StreamStates | None = None) -> Drafts:
    """Return empty drafts over *states*."""
    return Drafts(COUNTING, states or StreamStates(COUNTING), "caseops", BEGAN)


def test_facts_follow_the_version_of_their_stream() -> None:
    """Ids derive from stream and version; the cause is the message that led to them."""
    states = StreamStates(COUNTING)
    states.keep({"run/run-1": (4, 4)})
    draft = drafts(states)
    draft.add(a_message(), an_intent(a(CaseClosed), a(CaseClosed)))

    assert [5, 6] == [fact.streamversion for fact in draft.facts]
    assert [event_id("run/run-1", 5), event_id("run/run-1", 6)] == [
        f.id for f in draft.facts
    ]
    first = draft.facts[0]
    assert ("cause", KEY, KEY, "prod-cn", BEGAN, "supervisor") == (
        first.causationid,
        first.key,
        first.correlationid,
        first.tenant,
        first.time,
        first.writer,
    )
    assert traceparent(KEY, first.id) == first.traceparent
    assert {"run/run-1": (6, 6)} == draft.states


def test_the_same_decision_drafted_twice_is_the_same_fact() -> None:
    """A re-recorded decision is no stranger: same id, same bytes."""
    one, two = drafts(), drafts()
    for draft in (one, two):
        draft.add(a_message(), an_intent(a(RunCompleted)))

    assert one.facts == two.facts


def test_a_fact_goes_where_the_registry_says() -> None:
    """A completion goes to the log and to completions; a plan version is an attribute."""
    draft = drafts()
    draft.add(a_message(), an_intent(a(RunCompleted), a(ResultStale)))
    completed, stale = draft.facts

    assert ("caseops.events", "caseops.completions") == completed.topics
    assert (None, 1) == (completed.planversion, stale.planversion)
    assert BY_PAYLOAD[RunCompleted].dataschema == completed.dataschema


def test_orders_are_sent_and_never_recorded() -> None:
    """A command goes to its addressee's topic, caused by the fact before it."""
    draft = drafts()
    order = a(ExecuteDelegation)
    draft.add(a_message(), an_intent(a(CaseClosed), order, a(CaseClosed)))
    [sent] = draft.orders
    envelope = decode(sent.headers, sent.value)

    assert 2 == len(draft.facts)
    assert f"caseops.commands.{order.addressee}" == sent.topic
    assert (draft.facts[0].id, KEY, KEY) == (
        envelope.causationid,
        envelope.partitionkey,
        envelope.runid,
    )
    assert derived_id(draft.facts[0].id, 1) == envelope.id
    assert b"run-1" == sent.message_key == sent.order_key


def test_an_order_without_a_fact_has_no_cause_on_the_log() -> None:
    """Nothing was recorded before it."""
    draft = drafts()
    draft.add(a_message(), an_intent(a(ExecuteDelegation)))

    assert decode(draft.orders[0].headers, draft.orders[0].value).causationid is None


def test_a_later_message_sees_what_an_earlier_one_decided() -> None:
    """Records of one batch see each other's effect, per stream."""
    draft = drafts()
    draft.add(a_message("one"), an_intent(a(CaseClosed)))
    draft.add(a_message("two"), an_intent(a(CaseClosed)))
    draft.add(a_message("three"), an_intent(a(CaseClosed), stream="run/other"))

    assert [1, 2, 1] == [fact.streamversion for fact in draft.facts]
    assert ["one", "two", "three"] == [fact.causationid for fact in draft.facts]


def test_a_parked_message_leaves_nothing() -> None:
    """What one message drafted is dropped; what came before it stays."""
    draft = drafts()
    draft.add(a_message(), an_intent(a(CaseClosed)))
    mark = draft.mark()
    draft.add(a_message(), an_intent(a(CaseClosed), a(ExecuteDelegation)))
    draft.rewind(mark)

    assert (1, 0, 1) == (len(draft.facts), len(draft.orders), len(draft.payloads))
    assert {"run/run-1": (1, 1)} == draft.states


def test_a_stream_that_was_only_read_is_guarded() -> None:
    """A decision to do nothing rests on the version it saw."""
    states = StreamStates(COUNTING)
    states.keep({"run/read": (3, 3)})
    draft = drafts(states)
    draft.add(a_message(), an_intent(stream="run/read"))
    draft.add(a_message(), an_intent(a(CaseClosed)))

    assert {"run/read": 3} == draft.guards()


def test_a_fact_that_is_too_large_is_poison() -> None:
    """A message over 256 KiB is refused when it is drafted."""
    large = a(ArtifactStored, media_type="x" * 200).model_copy(
        update={"media_type": "x" * (256 * 1024)}
    )

    with pytest.raises(Poison, match="TOO_LARGE"):
        drafts().add(a_message(), an_intent(large))


def test_an_unknown_stream_is_at_its_beginning() -> None:
    """A stream nobody wrote is at version 0."""
    states = StreamStates(COUNTING)
    states.keep({"a": (2, 2)})

    assert ((2, 2), (0, 0)) == (states.get("a"), states.get("b"))
    assert {"b"} == states.unknown(["a", "b"])

    states.clear()

    assert {"a", "b"} == states.unknown(["a", "b"])


def test_the_least_used_streams_are_forgotten(monkeypatch: Any) -> None:
    """Memory is bounded, never correctness: a forgotten stream is loaded again."""
    monkeypatch.setattr(streams, "KEPT_STREAMS", 2)
    states = StreamStates(COUNTING)
    states.keep({"a": (1, 1), "b": (1, 1)})
    states.keep({"a": (2, 2)})
    states.keep({"c": (1, 1)})

    assert {"b"} == states.unknown(["a", "b", "c"])


def test_now_only_stamps() -> None:
    """The same facts at another time are the same facts."""
    later = Drafts(COUNTING, StreamStates(COUNTING), "caseops", BEGAN + timedelta(days=1))
    here = drafts()
    for draft in (later, here):
        draft.add(a_message(), an_intent(a(RunCompleted)))

    assert [fact.data for fact in later.facts] == [fact.data for fact in here.facts]
