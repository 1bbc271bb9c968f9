"""Intake's rules: which facts follow from an alert, a refusal, and the end of a run."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from consumers.intake import decider as intake
from consumers.intake.decider import Placed
from consumers.intake.placing import look_up, playbook_for
from consumers.intake.reactions import CloseCase, ReceiveAlert, RefuseMessage, Unplaced
from event_schemas.alerts import IntakeRejected, MessageRef, OpenCase, Placement
from event_schemas.cases import (
    CaseClosed,
    CaseOpened,
    CaseSignalAdded,
    CaseSignalResolved,
    IntakeAccepted,
)
from event_schemas.ids import run_id, trace_id
from event_schemas.payload import Payload
from tests.support.builders import an_alert, the_directory, the_playbook
from tests.support.given import given, names_of

NOW = datetime(2026, 7, 23, 2, 2, tzinfo=UTC)
CASE = "case-1"
MESSAGE = MessageRef(
    source="/tests", id="m-1", topic="alerts", partition=0, offset=0, digest="d"
)


def receive(number: int = 1, **changes: Any) -> ReceiveAlert:
    """Return the command to take in an alert."""
    return ReceiveAlert(MESSAGE, an_alert(number, **changes), NOW)


def placed(command: ReceiveAlert, before: OpenCase | None = None) -> Placed:
    """Return what intake sees when it places *command* into the case of this test."""
    directory = the_directory()
    entry = look_up(directory, command.alert.service or "")
    playbook = playbook_for(command.alert, entry.group, [the_playbook()])
    return Placed(CASE, Placement(directory=entry, group_case=before, playbook=playbook))


def decided(
    command: ReceiveAlert, *before: Payload, case: OpenCase | None = None
) -> list[Payload]:
    """Return the facts that follow from *command* after *before*."""
    return given(intake, *before)(command, placed(command, case), NOW)


def accepted_of(facts: list[Payload]) -> IntakeAccepted:
    """Return the acceptance among *facts*."""
    return next(fact for fact in facts if isinstance(fact, IntakeAccepted))


def test_the_first_firing_alert_opens_and_accepts_a_case() -> None:
    """INT-05: case, run, trace and one deadline, after the alert itself as an input fact."""
    facts = decided(receive())

    assert ["AlertReceived", "CaseOpened", "IntakeAccepted"] == names_of(facts)
    accepted = accepted_of(facts)
    assert run_id(f"case/{CASE}", 1) == accepted.run_id
    assert trace_id(accepted.run_id) == accepted.trace_id
    assert (CASE, "incident", "payment-incident") == (
        accepted.case_id,
        accepted.kind,
        accepted.playbook,
    )


def test_the_alert_is_resolved_into_structured_fields() -> None:
    """INT-02: service, environment, metric and window stand in the accepted case."""
    facts = decided(
        receive(
            metric="success_rate",
            window_start="2026-07-23T01:45:00Z",
            window_end="2026-07-23T02:10:00Z",
        )
    )

    accepted = accepted_of(facts)
    assert ("payment-api", "production", "success_rate") == (
        accepted.service,
        accepted.environment,
        accepted.signal.metric,
    )
    assert datetime(2026, 7, 23, 1, 45, tzinfo=UTC) == accepted.window_start
    assert datetime(2026, 7, 23, 2, 10, tzinfo=UTC) == accepted.window_end


def test_without_a_window_the_playbook_says_where_to_look() -> None:
    """INT-02: the window lies around the start of the signal, never around the clock."""
    accepted = accepted_of(decided(receive(starts_at="2026-07-22T10:00:00Z")))

    start = datetime(2026, 7, 22, 10, 0, tzinfo=UTC)
    window = the_playbook().window
    assert start - timedelta(seconds=window.before_seconds) == accepted.window_start
    assert start + timedelta(seconds=window.after_seconds) == accepted.window_end


def test_a_known_service_has_an_owner() -> None:
    """INT-03: the directory names the team, and the services the run may look at."""
    accepted = accepted_of(decided(receive()))

    assert "team-payments" == accepted.owner
    assert {"payment-api", "risk-gateway"} <= set(accepted.services)


def test_an_unknown_service_is_unassigned_with_a_warning() -> None:
    """INT-03: the case opens all the same, and says what is missing."""
    facts = decided(receive(service="mystery"))

    opened = facts[1]
    assert isinstance(opened, CaseOpened)
    assert ("unassigned", "unassigned", "mystery") == (
        opened.owner,
        opened.group,
        opened.service,
    )
    assert ("service mystery is not in the directory",) == opened.warnings


@pytest.mark.parametrize(
    ("alert", "services"),
    [
        ({"service": "mystery"}, ("mystery",)),
        ({"service": None}, ("*",)),
        ({"service": "mystery", "services": ["a", "b"]}, ("a", "b")),
        ({"service": None, "labels": {"app": "from-label"}}, ("from-label",)),
    ],
)
def test_outside_the_directory_the_alert_says_where_to_look(
    alert: dict[str, Any], services: tuple[str, ...]
) -> None:
    """The run looks at what the alert names; an alert that names nothing opens everything."""
    assert services == accepted_of(decided(receive(**alert))).services


@pytest.mark.parametrize(
    ("wanted", "deadline"),
    [
        (None, NOW + timedelta(minutes=8)),
        (NOW + timedelta(minutes=3), NOW + timedelta(minutes=3)),
        (NOW + timedelta(minutes=9), NOW + timedelta(minutes=8)),
        (NOW - timedelta(minutes=1), NOW + timedelta(minutes=8)),
    ],
)
def test_the_deadline_is_eight_minutes_or_earlier(
    wanted: datetime | None, deadline: datetime
) -> None:
    """INT-09: an alert may bring the deadline forward, never back, and not into the past."""
    accepted = accepted_of(decided(receive(deadline_at=wanted)))

    assert deadline == accepted.deadline_at


def test_further_alerts_join_the_case() -> None:
    """INT-08: the second and third signal are added; the run is accepted once."""
    opened = decided(receive(1))
    second = decided(receive(2), *opened)
    third = decided(receive(3), *opened, *second)

    assert ["AlertReceived", "CaseSignalAdded"] == names_of(second)
    assert ["AlertReceived", "CaseSignalAdded"] == names_of(third)


def test_the_same_signal_again_is_marked_as_repeated() -> None:
    """INT-01: same fingerprint and start: linked, counted as the same signal."""
    opened = decided(receive(1))
    again = decided(receive(1, alert_id="alert-1-again"), *opened)[1]
    other = decided(receive(1, starts_at="2026-07-23T02:03:00Z"), *opened)[1]

    assert isinstance(again, CaseSignalAdded)
    assert isinstance(other, CaseSignalAdded)
    assert (True, False) == (again.repeated, other.repeated)


def test_a_resolved_alert_does_not_end_the_case() -> None:
    """A signal that is over is recorded, and the run goes on."""
    facts = decided(receive(1, status="resolved"), *decided(receive(1)))

    assert ["AlertReceived", "CaseSignalResolved"] == names_of(facts)


def test_resolved_first_opens_the_case_and_firing_accepts_it() -> None:
    """The messages overtook each other: the case opens without a run, which firing adds."""
    first = decided(receive(1, status="resolved"))
    case = OpenCase(
        case_id=CASE, run_id=run_id(f"case/{CASE}", 1), status="open", last_signal_at=NOW
    )
    second = decided(receive(1), *first, case=case)

    assert ["AlertReceived", "CaseOpened", "CaseSignalResolved"] == names_of(first)
    assert ["AlertReceived", "CaseSignalAdded", "IntakeAccepted"] == names_of(second)
    assert isinstance(first[2], CaseSignalResolved)
    assert accepted_of(second).related_run_id is None


def test_a_new_case_names_the_one_before() -> None:
    """INT-14: the case that follows a terminal one is linked to it, and so is its run."""
    before = OpenCase(case_id="old", run_id="old-run", status="closed", last_signal_at=NOW)
    facts = decided(receive(), case=before)

    opened = facts[1]
    assert isinstance(opened, CaseOpened)
    assert ("old", "old-run") == (opened.related_case_id, opened.related_run_id)
    assert "old-run" == accepted_of(facts).related_run_id


def test_a_closed_case_takes_the_same_signal_and_no_second_run() -> None:
    """A repeated signal of a closed case is linked to it; a run is never opened twice."""
    history = [
        *decided(receive(1, status="resolved")),
        CaseClosed(case_id=CASE, run_id="r", run_status="completed"),
    ]

    assert ["AlertReceived", "CaseSignalAdded"] == names_of(decided(receive(1), *history))


def test_the_end_of_a_run_closes_its_case_once() -> None:
    """The case is closed with the status of its run; a second ending changes nothing."""
    opened = decided(receive())
    close = CloseCase(CASE, "r", "completed")
    facts = given(intake, *opened)(close)

    assert [CaseClosed(case_id=CASE, run_id="r", run_status="completed")] == facts
    assert [] == given(intake, *opened, *facts)(close)


def test_a_run_without_a_case_closes_nothing() -> None:
    """A completion of a case that intake never opened leaves no fact."""
    assert [] == given(intake)(CloseCase("unknown", "r", "completed"))


def test_a_refusal_is_a_fact_with_its_reason() -> None:
    """INT-06, INT-16: what was refused, why, and what it held."""
    unplaced = Unplaced(reason="MISSING_SOURCE", detail="data.source", data={"a": 1})
    [fact] = given(intake)(RefuseMessage(MESSAGE, unplaced))

    assert isinstance(fact, IntakeRejected)
    assert ("MISSING_SOURCE", {"a": 1}, MESSAGE) == (fact.reason, fact.data, fact.message)


def test_an_alert_is_never_decided_without_what_intake_saw() -> None:
    """Replay needs the placement, so a decision without it is an error, not a guess."""
    with pytest.raises(ValueError, match="observed"):
        given(intake)(receive())
