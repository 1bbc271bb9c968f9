"""Where a signal belongs: risk, directory, playbook, and the case it joins."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from consumers.intake.placing import (
    CORRELATION_WINDOW,
    case_to_join,
    look_up,
    new_case_id,
    playbook_for,
    risk_of,
    starts_at,
)
from consumers.intake.reactions import ReceiveAlert, service_of
from event_schemas.alerts import DirectoryEntry, MessageRef, OpenCase
from event_schemas.playbooks import Match
from tests.support.builders import an_alert, the_directory, the_playbook

AT = datetime(2026, 7, 23, 2, 2, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def a_case(status: Any = "open", last: datetime = AT, name: str = "c") -> OpenCase:
    """Return a case as intake's tables know it."""
    return OpenCase(case_id=name, run_id="r", status=status, last_signal_at=last)


def an_entry(risk: str = "critical") -> DirectoryEntry:
    """Return a directory entry of a service on which *risk* hangs."""
    return DirectoryEntry(
        service="s", group="g", owner="o", risk=risk, known=True, version="v"
    )


@pytest.mark.parametrize(
    ("severity", "hangs_on_it", "risk"),
    [
        ("critical", "critical", "critical"),
        ("page", "high", "critical"),
        ("CRITICAL", "high", "critical"),
        ("critical", "medium", "high"),
        ("critical", "low", "high"),
        ("warning", "critical", "high"),
        ("warning", "high", "high"),
        ("warning", "medium", "medium"),
        ("warning", "low", "low"),
        ("info", "critical", "low"),
        ("p5", "high", "low"),
    ],
)
def test_risk_follows_a_table(severity: str, hangs_on_it: str, risk: str) -> None:
    """INT-04: how severe the signal is, and how much hangs on the service."""
    assert risk == risk_of(an_alert(severity=severity), an_entry(hangs_on_it))


def test_risk_is_the_same_every_time() -> None:
    """INT-04, INT-07: a hundred evaluations, one answer."""
    alert, entry = an_alert(metric="success_rate"), an_entry()

    assert {"critical"} == {risk_of(alert, entry) for _ in range(100)}


@pytest.mark.parametrize(
    ("away", "joins"),
    [
        (timedelta(0), True),
        (CORRELATION_WINDOW, True),
        (-CORRELATION_WINDOW, True),
        (CORRELATION_WINDOW + SECOND, False),
        (-CORRELATION_WINDOW - SECOND, False),
    ],
)
def test_the_window_is_fifteen_minutes_of_event_time(
    away: timedelta, *, joins: bool
) -> None:
    """INT-01: near the last signal of the group's case, on either side, is the same case."""
    case = a_case()

    assert (case if joins else None) == case_to_join(AT + away, None, case)


def test_a_closed_case_of_the_group_is_not_joined() -> None:
    """INT-14: after the end a new case is opened."""
    assert case_to_join(AT, None, a_case("closed")) is None


def test_without_any_case_a_signal_opens_its_own() -> None:
    """Nothing is there to join."""
    assert case_to_join(AT, None, None) is None


@pytest.mark.parametrize("status", ["open", "closed"])
def test_the_same_signal_joins_its_case_whatever_its_state(status: str) -> None:
    """INT-01: a repeat never opens a second case, however late it is."""
    own, other = a_case(status, name="own"), a_case(name="other")

    assert own == case_to_join(AT + timedelta(days=1), own, other)


@pytest.mark.parametrize(
    ("alert", "at"),
    [
        ({"starts_at": "2026-07-23T01:00:00Z"}, AT.replace(hour=1, minute=0)),
        (
            {"starts_at": None, "window_start": "2026-07-23T01:30:00Z"},
            AT.replace(hour=1, minute=30),
        ),
        ({"starts_at": None}, AT.replace(minute=1)),
    ],
)
def test_a_signal_begins_when_it_says(alert: dict[str, Any], at: datetime) -> None:
    """Its own word, then its window, then the time of its event."""
    command = ReceiveAlert(_message(), an_alert(**alert), AT.replace(minute=1))

    assert at == starts_at(command, AT)


def test_a_signal_that_says_nothing_begins_now() -> None:
    """An event without any time is stamped when it is taken in."""
    assert AT == starts_at(ReceiveAlert(_message(), an_alert(starts_at=None), None), AT)


@pytest.mark.parametrize(
    ("alert", "service"),
    [
        ({"service": "api", "labels": {"app": "x"}}, "api"),
        ({"service": None, "labels": {"job": "j", "app": "a"}}, "a"),
        ({"service": None, "labels": {"deployment": "d"}}, "d"),
        ({"service": None, "labels": {"app": ""}}, ""),
    ],
)
def test_the_service_is_named_or_found_in_labels(
    alert: dict[str, Any], service: str
) -> None:
    """INT-02: the field wins, then the labels in a fixed order."""
    assert service == service_of(an_alert(**alert))


def test_the_directory_answers_with_its_version() -> None:
    """INT-03: what intake saw names the directory it was read in."""
    directory = the_directory()
    known, unknown = look_up(directory, "payment-api"), look_up(directory, "")

    assert (True, "payments", directory.version) == (
        known.known,
        known.group,
        known.version,
    )
    assert (False, "unassigned", "unassigned", directory.version) == (
        unknown.known,
        unknown.service,
        unknown.owner,
        unknown.version,
    )


def test_a_specific_playbook_wins_over_the_fallback() -> None:
    """The rule that names the signal kind or the group fits better than the one for all."""
    fallback = the_playbook()
    named = fallback.model_copy(
        update={"name": "latency", "match": Match(signal_kinds=("latency_p95",))}
    )
    grouped = fallback.model_copy(
        update={"name": "stock", "match": Match(groups=("warehouse",))}
    )
    known = [fallback, named, grouped]

    assert "latency" == playbook_for(an_alert(), "payments", known).name
    odd = an_alert(signal_kind="odd")
    assert "payment-incident" == playbook_for(odd, "payments", known).name
    assert "stock" == playbook_for(odd, "warehouse", known).name


def test_the_id_of_a_new_case_names_its_message() -> None:
    """The same message opens the same case, wherever and however often it is decided."""
    command = ReceiveAlert(_message(), an_alert(), None)
    other = ReceiveAlert(_message("other"), an_alert(), None)

    assert new_case_id(command, "t") == new_case_id(command, "t")
    assert 3 == len(
        {new_case_id(command, "t"), new_case_id(command, "u"), new_case_id(other, "t")}
    )


def _message(name: str = "m") -> MessageRef:
    return MessageRef(
        source="/s", id=name, topic="alerts", partition=0, offset=0, digest="d"
    )
