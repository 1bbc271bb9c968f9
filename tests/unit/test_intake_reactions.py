"""From outside messages and run endings to intake's commands, and what is not let in."""

import json
from dataclasses import replace
from typing import Any

import pytest

from consumers.decider import Message
from consumers.intake.reactions import (
    CloseCase,
    ReceiveAlert,
    RefuseMessage,
    Unplaced,
    parser,
    react,
)
from event_schemas.alerts import AlertRaised
from event_schemas.cases import CaseClosed
from event_schemas.envelope import Envelope
from event_schemas.payload import Payload
from event_schemas.runs import RunCompleted
from event_schemas.strict_json import Malformed
from tests.support.builders import BEGAN, RUN, a, an_alert, history
from tests.support.records import ALERT, alert_data

PARSE = parser((), local_mode=True)


def an_event(data: Any, tenant: str | None = "prod-cn") -> Envelope:
    """Return *data* as an alert event of *tenant*."""
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return Envelope("m-1", "/tests", ALERT, BEGAN, body, tenantid=tenant)


def a_message(payload: Payload, envelope: Envelope | None = None) -> Message:
    """Return *payload* as the loop hands it over."""
    return Message(envelope or an_event({}), payload, "alerts", 3, 7, b"\x01")


@pytest.mark.parametrize(
    ("lacking", "reason"),
    [
        ({"tenant": None}, "MISSING_TENANT"),
        ({"tenant": "  "}, "MISSING_TENANT"),
        ({"environment": None}, "MISSING_ENVIRONMENT"),
        ({"environment": ""}, "MISSING_ENVIRONMENT"),
        ({"source": None}, "MISSING_SOURCE"),
        ({"tenant": None, "source": None}, "MISSING_TENANT"),
    ],
)
def test_an_alert_that_belongs_nowhere_is_refused(
    lacking: dict[str, Any], reason: str
) -> None:
    """INT-06: without tenant, environment or source there is no incident, but a fact."""
    unplaced = PARSE(an_event(alert_data(1, **lacking)))

    assert isinstance(unplaced, Unplaced)
    assert reason == unplaced.reason


def test_a_field_that_is_absent_is_missing() -> None:
    """INT-06: absent is as bad as null."""
    data = alert_data(1)
    del data["source"]

    unplaced = PARSE(an_event(data))

    assert isinstance(unplaced, Unplaced)
    assert ("MISSING_SOURCE", data) == (unplaced.reason, unplaced.data)


@pytest.mark.parametrize("tenant", [None, "", " "])
def test_an_event_without_a_tenant_is_refused_whatever_its_data(tenant: str | None) -> None:
    """DEL-03: the tenant comes from the event's attribute, never from the body."""
    unplaced = PARSE(an_event(alert_data(1), tenant))

    assert isinstance(unplaced, Unplaced)
    assert "MISSING_TENANT" == unplaced.reason


@pytest.mark.parametrize(
    ("event", "allowed", "code"),
    [
        (an_event(alert_data(1, tenant="other")), (), "TENANT_MISMATCH"),
        (an_event(alert_data(1)), ("somebody",), "TENANT_NOT_ALLOWED"),
        (an_event(alert_data(1, severity=3)), (), "SCHEMA_INVALID"),
        (an_event(alert_data(1, status="odd")), (), "SCHEMA_INVALID"),
        (an_event(alert_data(1, service="s" * 201)), (), "SCHEMA_INVALID"),
        (replace(an_event(alert_data(1)), id="i" * 201), (), "BAD_HEADER"),
        (an_event([1]), (), "SCHEMA_INVALID"),
        (an_event(b"{"), (), "SCHEMA_INVALID"),
        (an_event(b'{"tenant": NaN}'), (), "BAD_NUMBER"),
    ],
)
def test_what_cannot_be_an_alert_is_parked(
    event: Envelope, allowed: tuple[str, ...], code: str
) -> None:
    """Bad input has a stable code."""
    with pytest.raises(Malformed) as refused:
        parser(allowed, local_mode=True)(event)

    assert code == refused.value.code


def test_an_empty_list_serves_nobody_outside_local_mode() -> None:
    """Safe by default: a real installation says whom it serves (EVT-15)."""
    with pytest.raises(Malformed) as refused:
        parser((), local_mode=False)(an_event(alert_data(1)))

    assert "TENANT_NOT_ALLOWED" == refused.value.code


def test_a_listed_tenant_is_let_in() -> None:
    """An installation that names its tenants serves them."""
    assert an_alert(1) == parser(("prod-cn",), local_mode=False)(an_event(alert_data(1)))


@pytest.mark.parametrize(("local", "folder"), [(True, "/cases/1"), (False, None)])
def test_a_case_folder_counts_in_local_mode_only(
    *, local: bool, folder: str | None
) -> None:
    """A path in an alert from outside is never followed in real mode."""
    parse = parser(("prod-cn",), local_mode=local)
    alert = parse(an_event(alert_data(1, case_folder="/cases/1")))

    assert isinstance(alert, AlertRaised)
    assert folder == alert.case_folder


def test_other_events_are_read_as_they_are() -> None:
    """Intake reads the endings of runs like anybody else."""
    [(envelope, completed)] = history([a(RunCompleted)])

    assert completed == PARSE(envelope)


def test_an_alert_is_taken_in_with_where_it_came_from() -> None:
    """The input fact can be claimed again: source, id, topic, offset and digest."""
    [intent] = react(a_message(an_alert(1)))

    command = intent.command
    assert isinstance(command, ReceiveAlert)
    assert ("/tests", "m-1", "alerts", 3, 7, "01") == (
        command.message.source,
        command.message.id,
        command.message.topic,
        command.message.partition,
        command.message.offset,
        command.message.digest,
    )
    assert (BEGAN, "", "") == (command.sent_at, intent.stream, intent.key)


def test_a_refusal_has_a_stream_of_its_own() -> None:
    """Two refused messages never share a stream, and one refused twice is the same fact."""
    lacking = Unplaced(reason="MISSING_TENANT", detail="d", data=None)
    [one] = react(a_message(lacking, an_event({}, None)))
    [again] = react(a_message(lacking, an_event({}, None)))

    assert isinstance(one.command, RefuseMessage)
    assert one == again
    assert one.stream.startswith("request/-/")
    assert one.key == one.stream.removeprefix("request/")


def test_the_end_of_a_run_closes_its_case() -> None:
    """The completion travels on the run's key, and so does the closing."""
    [(envelope, completed)] = history([a(RunCompleted)])
    [intent] = react(a_message(completed, envelope))

    assert isinstance(completed, RunCompleted)
    assert CloseCase(completed.case_id, completed.run_id, "completed") == intent.command
    assert (f"case/{completed.case_id}", RUN) == (intent.stream, intent.key)


def test_anything_else_is_nothing_to_intake() -> None:
    """A fact intake did not ask for leads to no command."""
    assert [] == list(react(a_message(a(CaseClosed))))
