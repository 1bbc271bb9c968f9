"""S1 over hundreds of delivery orders, with duplicates and crashes: one completion event."""

import json
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from typing import Any

import pytest

from consumers.join_engine.reactions import OpenJoin
from consumers.once import DecideOnce
from event_schemas.alerts import AlertReceived
from tests.support.orders import Run, assert_in_any_order, drawn, shrunk
from tests.support.s1 import THE_ALERTS, System

ORDERS = 500


def first_alert(system: System) -> str:
    """Return the id of the alert that opened the case: ids derive from it."""
    [_, payload] = system.events(AlertReceived)[0]
    assert isinstance(payload, AlertReceived)
    return payload.alert.alert_id


def facts_of(system: System) -> Counter[str]:
    """Return how many facts of each type there are."""
    return Counter(event.envelope.type for event in system.world.store.events)


@lru_cache
def plain() -> dict[str, tuple[tuple[str, bytes], Counter[str]]]:
    """Return completion and facts of the plain order, for each alert that may come first."""
    found: dict[str, tuple[tuple[str, bytes], Counter[str]]] = {}
    for alerts in permutations(THE_ALERTS):
        system = System(alerts)
        Run(system).along(())
        [completion] = system.completions()
        whole = (completion, facts_of(system))
        assert whole == found.setdefault(first_alert(system), whole)
    return found


def is_as_in_plain_order(system: System) -> None:
    """Check that *system* came to the completion of the plain order, no fact more or less."""
    completion, facts = plain()[first_alert(system)]
    assert [completion] == system.completions()
    assert facts == facts_of(system)
    assert {} == system.world.store.dead_letters
    assert {} == system.world.store.outbox


def test_every_order_ends_in_one_and_the_same_completion() -> None:
    """LATE-06, S1-e: 500 orders with duplicates and crashes, one completion, same id and data."""
    assert_in_any_order(range(ORDERS), System, is_as_in_plain_order)


def test_the_plain_order_is_the_main_sequence() -> None:
    """S1: a stage assessment with the conflict kept, at every specialist's word."""
    system = System()
    Run(system).along(())

    [completed] = system.completed()
    assert completed.report is not None
    assert "stage assessment (2/3 complete, metric partial)" == completed.report.status
    assert ("completed", "partial", "PARTIAL_EVIDENCE") == (
        completed.status,
        completed.result_status,
        completed.outcome,
    )
    assert ["primary_cause"] == [each.topic for each in completed.report.conflicts]
    assert ("other regions",) == completed.report.missing
    assert ["payment-api"] == [cause.service for cause in completed.report.causes]


def test_the_first_alert_changes_ids_and_nothing_else() -> None:
    """INT-08: whichever of the three came first, the judgement reads the same."""
    judgements = []
    for (_, data), _ in plain().values():
        document = json.loads(data)
        del document["run_id"], document["case_id"]
        judgements.append(document)

    assert 3 == len(judgements)
    assert judgements[0] == judgements[1] == judgements[2]


def shown(system: System) -> dict[str, Any]:
    """Return what the case view shows of the run, without what an order may change."""
    state = system.viewer.state_of(str(system.world.store.events[0].envelope.partitionkey))
    fixed = ("status", "result_status", "outcome", "signals", "report", "completion_id")
    return {name: state[name] for name in fixed}


def test_the_case_view_is_the_same_in_every_order() -> None:
    """The view shows three signals and the one judgement, whatever came twice or first."""
    expected = {}
    for alerts in permutations(THE_ALERTS):
        system = System(alerts, viewed=True)
        Run(system).along(())
        expected[first_alert(system)] = shown(system)

    def check(system: System) -> None:
        assert expected[first_alert(system)] == shown(system)

    assert [3, 3, 3] == [each["signals"] for each in expected.values()]
    assert_in_any_order(range(1000, 1080), lambda: System(viewed=True), check)


def test_every_record_is_an_effect_a_letter_or_a_counted_skip() -> None:
    """Conservation: without a crash, claims, letters and skips add up to what was taken."""
    system = System()
    Run(system).along(tuple(n for n in drawn(7) if n % 4 != 3))
    for member in system.members:
        member.flush()

    store = system.world.store
    handled = Counter(row[0] for row in (*store.inbox, *store.dead_letters))
    for skipped, count in store.skips.items():
        handled[skipped[0]] += count
    taken: Counter[str] = Counter()
    for place, at in store.progress.items():
        taken[place[0]] += at
    assert taken == handled


def _impatient(service: DecideOnce) -> DecideOnce:
    """Return a join engine with one rule changed: it does not wait for everybody."""
    pure = service.decider

    def decide(state: Any, command: Any, *more: Any) -> Any:
        if isinstance(command, OpenJoin):
            contract = command.plan.join.model_copy(update={"strategy": "quorum"})
            command = OpenJoin(command.plan.model_copy(update={"join": contract}))
        return pure.decide(state, command, *more)

    return replace(service, decider=replace(pure, decide=decide))


def test_a_changed_rule_is_found_and_its_order_is_shrunk() -> None:
    """The other half of the promise: a rule that depends on order does not get through."""
    with pytest.raises(AssertionError, match=r"seed \d+: AssertionError") as caught:
        assert_in_any_order(
            range(20), lambda: System(joining=_impatient), is_as_in_plain_order
        )

    assert "answers" in str(caught.value) or "tape ()" in str(caught.value)


def test_shrinking_leaves_only_what_the_failure_needs() -> None:
    """A tape shrinks to the numbers without which it would not fail."""
    tape = drawn(3)

    assert (tape[40],) == shrunk(tape, lambda each: tape[40] in each)
