"""Variants of S1 over many delivery orders: silence, lateness, rogue answers, poison."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from event_schemas.cases import CaseOpened
from event_schemas.deadlines import DeadlinePassed
from event_schemas.delegations import ExecuteDelegation
from event_schemas.joins import JoinClosed
from event_schemas.payload import Payload
from event_schemas.results import (
    ResultHashConflict,
    ResultLate,
    ResultRejected,
    ResultSubmitted,
)
from tests.support.builders import a_piece, an_answer
from tests.support.orders import Run, assert_in_any_order
from tests.support.records import RawRecord, alert_headers
from tests.support.s1 import NOON, THE_ALERTS, System, an_alert_record, silent, the_answer
from tests.support.twin_specialists import Answer, Script

ORDERS = range(2000, 2040)
LATE = NOON.replace(minute=14)


def says(**changes: Any) -> Script:
    """Return the script of a specialist that gives the answer of S1 with *changes*."""

    def script(order: ExecuteDelegation) -> Sequence[Answer]:
        return [Answer(an_answer(order.task_id, order.delegation.step_id, **changes))]

    return script


def late(order: ExecuteDelegation) -> Sequence[Answer]:
    """Give the answer of S1 six minutes after the task's due time."""
    return [Answer(each.document, LATE) for each in the_answer(order)]


def facts(system: System, kind: type[Payload]) -> list[Any]:
    """Return the payloads of one type, in order."""
    return [payload for _, payload in system.events(kind)]


def same_in_any_order(
    fresh: Callable[[], System], check: Callable[[System], None], orders: range = ORDERS
) -> None:
    """Check every order, and that the judgement is one for each alert that may come first."""
    seen: dict[str, list[tuple[str, bytes]]] = {}

    def both(system: System) -> None:
        check(system)
        run = str(system.world.store.events[0].envelope.partitionkey)
        assert seen.setdefault(run, system.completions()) == system.completions()

    assert_in_any_order(orders, fresh, both)


NO_CHANGE = says(
    status="no_data", claims=[], evidence=[], warnings=[], summary="no change found"
)
ALL_METRICS = says(status="completed", missing_evidence=[])
WITHOUT_CLAIMS = says(claims=None)
SAME_BYTES = says(
    evidence=[a_piece("ev-change-12", "change_record", "causal_signal", digest="0" * 64)]
)
SAME_BYTES_LOGS = says(
    evidence=[
        a_piece("ev-log-41", "log_aggregate", "causal_signal", digest="0" * 64),
        a_piece("ev-trace-09", "trace_aggregate", "causal_signal"),
    ]
)
SHARED = {"logs": SAME_BYTES_LOGS, "changes": SAME_BYTES}
REFUSED = says(status="blocked", claims=[], evidence=[], error_code="ACCESS_DENIED")
VARIANTS: dict[str, tuple[Mapping[str, Script], str, str]] = {
    "S1-a": ({"metrics": silent}, "INSUFFICIENT_EVIDENCE", "deadline"),
    "S1-c": ({"changes": NO_CHANGE, "metrics": ALL_METRICS}, "COMPLETE", "all_satisfied"),
    "S1-f": ({"logs": WITHOUT_CLAIMS}, "PARTIAL_EVIDENCE", "all_terminal"),
    "odd evidence": ({"logs": says(evidence=5)}, "PARTIAL_EVIDENCE", "all_terminal"),
    "S1-h": (SHARED, "PARTIAL_EVIDENCE", "all_satisfied"),
    "S1-h without metrics": (
        {**SHARED, "metrics": silent},
        "INSUFFICIENT_EVIDENCE",
        "deadline",
    ),
    "nobody": (
        dict.fromkeys(("logs", "metrics", "changes"), silent),
        "INSUFFICIENT_EVIDENCE",
        "deadline",
    ),
    "blocked": ({"logs": REFUSED}, "PARTIAL_EVIDENCE", "all_terminal"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_has_one_outcome_in_every_order(name: str) -> None:
    """Each variant of S1 closes for its reason, with its outcome, however it is delivered."""
    scripts, outcome, reason = VARIANTS[name]

    def check(system: System) -> None:
        [closed] = facts(system, JoinClosed)
        assert (outcome, reason) == (closed.outcome, closed.reason)

    same_in_any_order(lambda: System(scripts=scripts), check)


def test_a_changed_artifact_keeps_its_claims_out() -> None:
    """S1-g: the hash does not match, so no log claim is in the report and nothing conflicts."""
    evidence = a_piece("ev-log-41", "log_aggregate", "causal_signal")
    broken = {evidence["content_hash"]: "f" * 64}

    def check(system: System) -> None:
        [rejected] = facts(system, ResultRejected)
        [completed] = system.completed()
        assert completed.report is not None
        assert "ARTIFACT_HASH_MISMATCH" == rejected.reason
        assert ("claim-metric-01", "claim-sec-08") == completed.report.claim_ids
        assert () == completed.report.conflicts
        assert "PARTIAL_EVIDENCE" == completed.outcome

    same_in_any_order(lambda: System(broken=broken), check)


def test_silence_says_that_the_impact_is_unproven() -> None:
    """S1-a: the run completes blocked, and asks for the evidence it lacks."""
    system = System(scripts={"metrics": silent})
    Run(system).along(())

    [completed] = system.completed()
    assert completed.report is not None
    assert ("completed", "blocked") == (completed.status, completed.result_status)
    assert ("impact unproven",) == completed.report.impact
    assert "request evidence: impact_metric" in completed.report.advice


def test_a_late_result_makes_exactly_one_revision() -> None:
    """S1-d, LATE-03: revision 2 with the metric in it; the completion stays as it was."""
    plain = {}
    for first in THE_ALERTS:
        others = [alert for alert in THE_ALERTS if alert is not first]
        quiet = System((first, *others), {"metrics": silent})
        Run(quiet).along(())
        [(name, data)] = quiet.completions()
        plain[name] = data

    def check(system: System) -> None:
        [(name, data), _] = system.completions()
        [late_result] = facts(system, ResultLate)
        [revised] = system.revised()
        assert (2, True) == (revised.report.revision, late_result.merge)
        assert "claim-metric-01" in revised.report.claim_ids
        assert plain[name] == data

    same_in_any_order(lambda: System(scripts={"metrics": late}), check)


def test_two_late_results_revise_twice_and_keep_their_conflict() -> None:
    """CONF-02, LATE-03: what was merged late stands beside what is merged later."""

    def check(system: System) -> None:
        second, third = system.revised()
        assert (2, 3) == (second.report.revision, third.report.revision)
        assert () == second.report.conflicts
        assert ["primary_cause"] == [each.topic for each in third.report.conflicts]

    assert_in_any_order(
        ORDERS, lambda: System(scripts={"logs": late, "changes": late}), check
    )


def test_another_answer_to_the_same_task_never_wins() -> None:
    """JOIN-11: the second, different answer is a hash conflict; the judgement stays."""

    def twice(order: ExecuteDelegation) -> Sequence[Answer]:
        [first] = the_answer(order)
        return [first, Answer({**first.document, "summary": "changed"}), first]

    def check(system: System) -> None:
        [conflict] = facts(system, ResultHashConflict)
        assert "logs" == conflict.specialist
        assert 5 == len(facts(system, ResultSubmitted))
        assert [] == system.revised()

    same_in_any_order(lambda: System(scripts={"logs": twice}), check)


def test_another_late_answer_never_wins_either() -> None:
    """JOIN-11: once a late answer is merged, a different one is a conflict, not a revision."""

    def twice(order: ExecuteDelegation) -> Sequence[Answer]:
        [first] = late(order)
        return [first, Answer({**first.document, "summary": "changed"}, LATE)]

    def check(system: System) -> None:
        assert [2] == [each.report.revision for each in system.revised()]
        assert 1 == len(facts(system, ResultHashConflict))

    same_in_any_order(lambda: System(scripts={"metrics": twice}), check)


def first_words(system: System) -> tuple[str, ...]:
    """Return what was first said of each task before the join closed, and by whom."""
    said: dict[str, str] = {}
    for _, fact in system.events(ResultSubmitted, DeadlinePassed, JoinClosed):
        if isinstance(fact, JoinClosed):
            break
        if isinstance(fact, ResultSubmitted):
            said.setdefault(fact.task_id, f"{fact.task_id} answered")
        elif isinstance(fact, DeadlinePassed):
            said.setdefault(fact.subject_id, f"{fact.subject_id} is over")
    return tuple(sorted(said.values()))


def test_deadlines_early_or_late_judge_equal_facts_equally() -> None:
    """Time may pass at any point: the same first words of every task, the same completion."""
    seen: dict[tuple[str, ...], tuple[str, bytes]] = {}

    def check(system: System) -> None:
        first = system.completions()[0]
        assert seen.setdefault(first_words(system), first) == first

    assert_in_any_order(range(3000, 3120), lambda: System(hasty=True), check)
    assert len(seen) > 6


def test_poison_parks_alone() -> None:
    """X-5: what cannot be read is parked with its code, the alerts around it are handled."""
    odd = RawRecord("alerts", 0, 0, b"k", b"{broken", alert_headers("odd"))
    none = RawRecord("alerts", 0, 0, b"j", None, alert_headers("none"))
    other = an_alert_record(0, alert_id="changed")
    alerts = (*THE_ALERTS, odd, none, other)

    def check(system: System) -> None:
        store = system.world.store
        reasons = sorted({dead.reason for dead in store.dead_letters.values()})
        assert ["ID_REUSED", "SCHEMA_INVALID", "TOMBSTONE"] == reasons
        assert 1 == len(system.completions())

    assert_in_any_order(ORDERS, lambda: System(alerts, waits_for=3), check)


def test_an_alert_after_the_end_opens_a_linked_case() -> None:
    """INT-14: the group's case is closed, so the next signal opens a new one that names it."""
    system = System(THE_ALERTS[:2])
    Run(system).along(())
    system.unsent.append(an_alert_record(5))
    Run(system).along(())

    first, second = facts(system, CaseOpened)
    assert (first.case_id, first.run_id) == (second.related_case_id, second.related_run_id)
    assert 2 == len(system.completions())
