"""The fold of the case view: what people see of a case and its run, event by event."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from event_schemas.alerts import AlertReceived, IntakeRejected
from event_schemas.cases import (
    CaseClosed,
    CaseOpened,
    CaseSignalAdded,
    CaseSignalResolved,
    IntakeAccepted,
)
from event_schemas.delegations import (
    DelegationAccepted,
    DelegationCompleted,
    DelegationCreated,
    DelegationDispatched,
    LeaseAcquired,
    LeaseExpired,
)
from event_schemas.joins import ConflictRecorded, JoinClosed
from event_schemas.payload import Payload
from event_schemas.results import (
    ResultAccepted,
    ResultHashConflict,
    ResultLate,
    ResultRejected,
    ResultSubmitted,
)
from event_schemas.runs import (
    ConflictEscalated,
    IncidentStarted,
    ReportPublished,
    ReportRevised,
    RunCompleted,
    RunStatusChanged,
)
from event_schemas.tools import PolicyDecided
from projections.case_view.fold import fold, initial, rows
from projections.case_view.overview import overview
from projections.case_view.wording import RESULT_TEXTS
from projections.projection import Place
from tests.support.builders import RUN, TASKS, a, a_claim, a_result, history

PLACE = Place(RUN, 3, 17)
OPENED = (a(AlertReceived), a(CaseOpened), a(IntakeAccepted))
LOGS = TASKS["logs"]


def folded(*facts: Payload) -> dict[str, Any]:
    """Return the state after *facts*, which must survive JSON after every event."""
    state: Any = initial(PLACE)
    for envelope, fact in history(facts):
        state = json.loads(json.dumps(fold(state, envelope, fact)))
    return dict(state)


def running(*facts: Payload) -> dict[str, Any]:
    """Return the state of a run that asked the logs specialist, after *facts*."""
    return folded(
        *OPENED,
        a(IncidentStarted),
        a(RunStatusChanged, status="running"),
        a(DelegationCreated),
        a(DelegationDispatched),
        *facts,
    )


def submitted(result: Any) -> ResultSubmitted:
    """Return *result* as submitted by the logs specialist."""
    return a(ResultSubmitted, task_id=LOGS, result=result)


def accepted(result: dict[str, Any]) -> ResultAccepted:
    """Return *result* as accepted by the join."""
    return a(ResultAccepted, task_id=LOGS, result=result, observed={})


def moved(status: str) -> RunStatusChanged:
    """Return the run's change to *status*."""
    return a(RunStatusChanged, status=status)


def texts(state: dict[str, Any]) -> Sequence[str]:
    """Return the lines of the timeline."""
    return [entry["what"] for entry in state["timeline"]]


def test_an_accepted_alert_is_a_received_run() -> None:
    """INT-02: the run shows service, owner, window and metric before it has started."""
    state = folded(*OPENED)

    assert ("received", "payment-api", "team-payments") == (
        state["status"],
        state["service"],
        state["owner"],
    )
    assert {"start": "2026-07-23T01:45:00Z", "end": "2026-07-23T02:02:00Z"} == state[
        "window"
    ]
    assert ["success_rate"] == state["case"]["metrics"]


def test_signals_count_distinct_alerts() -> None:
    """INT-01: three alerts are three signals; the same one fired again stays one."""
    again = a(CaseSignalAdded, repeated=True)
    third = a(CaseSignalAdded, fingerprint="rule-hits", alert_id="alert-8823")
    state = folded(*OPENED, a(CaseSignalAdded), again, third)

    assert 3 == state["signals"]


def test_a_resolved_alert_alone_is_a_case_without_a_run() -> None:
    """A resolved alert that comes first opens a case; there is a case row and no run row."""
    state = folded(a(AlertReceived), a(CaseOpened), a(CaseSignalResolved))

    written = rows(initial(PLACE), state)
    assert ["case_view"] == [row.table for row in written]
    assert state["case"]["signals"][0]["resolved"]


def test_a_refused_alert_shows_nothing() -> None:
    """INT-16: a refusal is counted by its key's progress; no view row comes of it."""
    state = folded(a(IntakeRejected))

    assert [] == rows(initial(PLACE), state)


def test_the_place_in_the_log_is_kept() -> None:
    """The run row names partition and first offset of its events, for replay."""
    run = rows(initial(PLACE), folded(*OPENED))[-1].columns

    assert (3, 17, 3) == (run["log_partition"], run["first_offset"], run["sequence"])


def test_a_case_row_is_written_only_when_it_changes() -> None:
    """Events of the run leave the case row alone."""
    state: Any = folded(*OPENED)
    ((envelope, fact),) = history([a(IncidentStarted)], first=4)

    assert ["run_view"] == [r.table for r in rows(state, fold(state, envelope, fact))]


def test_a_delegation_goes_through_its_states() -> None:
    """SM-DEL: created, assigned, accepted, working, and its end; attempts are counted."""
    steps = [
        a(DelegationAccepted),
        a(LeaseAcquired),
        a(LeaseExpired),
        a(LeaseAcquired, attempt=2),
        a(DelegationCompleted),
    ]
    seen = [running(*steps[:at])["delegations"][0] for at in range(len(steps) + 1)]

    assert ["assigned", "accepted", "working", "accepted", "working", "completed"] == [
        each["status"] for each in seen
    ]
    assert (1, 2) == (seen[0]["attempts"], seen[-1]["attempts"])


def test_a_finished_delegation_does_not_move_back() -> None:
    """A lease that is acquired late does not bring an ended delegation back to work."""
    state = running(a(DelegationCompleted), a(LeaseAcquired))

    assert "completed" == state["delegations"][0]["status"]


def test_submitted_claims_are_not_accepted_yet() -> None:
    """Claims show with their evidence as soon as they are submitted, not accepted."""
    (claim,) = running(submitted(a_result()))["claims"]

    assert (False, "submitted", "logs") == (
        claim["accepted"],
        claim["state"],
        claim["specialist"],
    )
    assert [
        {
            "evidence_id": "ev-1",
            "kind": "log_aggregate",
            "uri": f"artifact://sha256/{1:064x}",
            "sha256": f"{1:064x}",
        }
    ] == claim["evidence"]


def test_accepted_claims_replace_submitted_ones() -> None:
    """The same claims are accepted, once, when the join has accepted the result."""
    claims = running(submitted(a_result()), accepted(a_result()))["claims"]

    assert [("claim-1", True)] == [(c["claim_id"], c["accepted"]) for c in claims]


def test_a_rejected_result_keeps_its_claims_unaccepted() -> None:
    """S1-f, S1-g: claims of a rejected result stay visible and are not accepted."""
    rejected = a(ResultRejected, task_id=LOGS, specialist="logs")
    (claim,) = running(submitted(a_result()), rejected)["claims"]

    assert (False, "rejected") == (claim["accepted"], claim["state"])


@pytest.mark.parametrize("junk", [{"status": "completed"}, "text", None, [1], 3])
def test_a_result_of_any_shape_is_folded(junk: Any) -> None:
    """S1-f: a result is any JSON until it is checked; an unreadable one shows no claims."""
    state = running(submitted(junk))

    assert [] == state["claims"]
    assert any("submitted a result" in text for text in texts(state))


def test_a_second_answer_does_not_replace_an_accepted_one() -> None:
    """JOIN-11: another answer to the same task never replaces what was accepted."""
    other = a_result(claims=[a_claim(1, value="other")])
    claims = running(
        accepted(a_result()), submitted(other), a(ResultHashConflict, task_id=LOGS)
    )["claims"]

    assert ["connection_pool_exhaustion"] == [claim["value"] for claim in claims]


def test_a_claim_that_cites_unknown_evidence_says_so() -> None:
    """A reference without a piece of evidence stays visible as one without bytes."""
    (claim,) = running(submitted(a_result(evidence=[])))["claims"]

    assert {"evidence_id": "ev-1", "kind": None, "uri": None, "sha256": None} == claim[
        "evidence"
    ][0]


def test_a_conflict_keeps_both_sides_and_stays_unresolved() -> None:
    """CONF-01: both claims are shown, unresolved, once, with the people it was handed to."""
    state = running(a(ConflictRecorded), a(ReportPublished), a(ConflictEscalated))
    (conflict,) = state["conflicts"]

    assert (2, "unresolved", "team-payments") == (
        len(conflict["claims"]),
        conflict["resolution"],
        conflict["escalated_to"],
    )


def test_the_join_names_what_is_missing_before_the_report() -> None:
    """Missing specialists and evidence types show from the close of the join."""
    closed = a(
        JoinClosed,
        missing_specialists=["metrics"],
        missing_evidence_types=["impact_metric"],
    )

    assert ["metrics: no result", "evidence type impact_metric"] == running(closed)[
        "missing"
    ]


def test_a_revision_keeps_the_earlier_report() -> None:
    """LATE-03: revision 2 is current, revision 1 is unchanged, the late claims are merged."""
    before = running(accepted(a_result()), a(ReportPublished), a(RunCompleted))
    late = a_result("metrics", 2)
    state = running(
        accepted(a_result()),
        a(ReportPublished),
        a(RunCompleted),
        a(ResultLate, result=late, task_id=TASKS["metrics"]),
        a(ReportRevised, merged=late, task_id=TASKS["metrics"]),
    )

    assert [1, 2] == [report["revision"] for report in state["reports"]]
    assert before["reports"][0] == state["reports"][0]
    assert (2, before["status"]) == (state["report"]["revision"], state["status"])
    assert [True, True] == [claim["accepted"] for claim in state["claims"]]


def test_completion_fills_the_result() -> None:
    """The completion event gives status, result, outcome and reason of the end."""
    state = running(a(ReportPublished), a(RunCompleted))

    assert ("completed", "partial", "PARTIAL_EVIDENCE", "partial") == (
        state["status"],
        state["result_status"],
        state["outcome"],
        state["termination_reason"],
    )


def test_a_closed_case_says_so() -> None:
    """The case closes when its run has ended."""
    assert "closed" == running(a(RunCompleted), a(CaseClosed))["case"]["status"]


@pytest.mark.parametrize(
    ("facts", "stage"),
    [
        ([moved("running")], "collecting"),
        ([submitted(a_result())], "analysing"),
        ([moved("blocked")], "waiting_for_other_agent"),
        ([moved("waiting_human")], "waiting_for_human_confirmation"),
        ([moved("consolidating")], "merging_artifacts"),
        ([moved("completed")], "merging_artifacts"),
        ([moved("completed"), a(RunCompleted)], "completed_degraded"),
        ([a(RunCompleted, result_status="completed")], "completed"),
        ([a(RunCompleted, status="needs_human")], "needs_your_input"),
        ([a(RunCompleted, status="failed")], "failed"),
        ([a(RunCompleted, status="cancelled")], "cancelled"),
    ],
)
def test_stages_follow_the_run(facts: list[Payload], stage: str) -> None:
    """USER-02: each stage is one of the ten, and names the event that led to it."""
    state = running(*facts)

    assert stage == state["stage"]["name"]
    assert {"add_material", "cancel", "view_products", "wait_for_notice"} == set(
        state["stage"]["can"]
    )


def test_a_stage_keeps_the_event_that_began_it() -> None:
    """USER-02: later events of the same stage do not move its beginning."""
    begun = folded(*OPENED)["stage"]

    assert begun == running()["stage"]


def test_the_timeline_says_who_and_what() -> None:
    """The timeline has one line for each event that people care about, with its writer."""
    state = running(a(PolicyDecided), submitted(a_result()))
    last = state["timeline"][-1]

    assert ("logs", "submitted a result (completed)", 9) == (
        last["who"],
        last["what"],
        last["sequence"],
    )
    assert [1, 2, 3, 4, 7, 9] == [entry["sequence"] for entry in state["timeline"]]


def test_the_overview_has_five_groups() -> None:
    """USER-01, USER-04: who, stage, confirmed, waiting and to be reviewed, after a partial end."""
    state = running(accepted(a_result()), a(ReportPublished), a(RunCompleted))
    seen = overview(state)

    assert ("team-payments", "completed_degraded", ["claim-1"]) == (
        seen["responsible"],
        seen["stage"],
        seen["confirmed"],
    )
    assert seen["waiting"] == state["report"]["advice"]
    assert ["primary_cause: unresolved"] == seen["review"]


def test_an_open_delegation_is_waited_for() -> None:
    """USER-01: while the run works, the overview names the answers still to come."""
    (waiting,) = overview(running())["waiting"]

    assert waiting.startswith("answer of logs until 2026-07-23T02:0")


def test_result_states_read_differently() -> None:
    """USER-05: partial, degraded, no data and failed are four different texts."""
    four = [RESULT_TEXTS[name] for name in ("partial", "degraded", "no_data", "failed")]

    assert 4 == len(set(four))
