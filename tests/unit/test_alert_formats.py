"""Alertmanager bodies become alerts of our own."""

from datetime import UTC, datetime
from typing import Any

import pytest

from infra.errors import WrongInput
from producers.alert_formats import alertmanager
from producers.publish import key_of
from tests.support.alertmanager import NO_END, a_body, an_entry, data_of, mapped


def test_an_alert_keeps_what_it_says() -> None:
    """Service, kind, severity, time and figures find their fields. INT-02, INT-13."""
    (envelope,) = mapped(a_body())
    alert = data_of(envelope)

    assert (
        "checkout",
        "EdgeLatencyHigh",
        "critical",
        datetime(2026, 7, 23, 2, 2, tzinfo=UTC),
        0.42,
        3.8,
        "http://prometheus.example/graph",
    ) == (
        alert.service,
        alert.signal_kind,
        alert.severity,
        alert.starts_at,
        alert.baseline,
        alert.observed,
        alert.raw_ref,
    )


def test_the_caller_says_whose_alert_it_is() -> None:
    """Tenant and source come from the caller, never from the body."""
    entry = an_entry(labels={"alertname": "X", "tenant": "somebody-else"})
    (envelope,) = mapped(a_body(entry, tenant="somebody-else"))

    assert ("acme", "acme", "alertmanager") == (
        envelope.tenantid,
        data_of(envelope).tenant,
        data_of(envelope).source,
    )


def test_a_repeat_is_the_same_event() -> None:
    """Alertmanager repeats itself in other groups and receivers too: id and bytes stay. INT-01."""
    (first,) = mapped(a_body())
    other_group = a_body(an_entry(), receiver="pager", groupKey='{}:{a="b"}')
    (repeat,) = mapped(other_group)

    assert (first.id, first.data) == (repeat.id, repeat.data)


def test_fresh_figures_are_another_event_of_the_same_signal() -> None:
    """A templated annotation changes with every evaluation; its id must change with it."""
    (first,) = mapped(a_body())
    (second,) = mapped(a_body(an_entry(annotations={"value": "4.1"})))
    one, two = data_of(first), data_of(second)

    assert first.id != second.id
    assert (one.fingerprint, one.starts_at) == (two.fingerprint, two.starts_at)


def test_a_resolved_alert_is_another_event_and_has_an_end() -> None:
    """The end of a firing alert is only a guess, that of a resolved one is a fact."""
    (firing,) = mapped(a_body(an_entry(endsAt="2026-07-23T02:07:00Z")))
    (resolved,) = mapped(a_body(an_entry(status="resolved", endsAt="2026-07-23T02:20:00Z")))

    assert firing.id != resolved.id
    assert (None, "resolved", datetime(2026, 7, 23, 2, 20, tzinfo=UTC)) == (
        data_of(firing).window_end,
        data_of(resolved).status,
        data_of(resolved).window_end,
    )


def test_a_group_of_mixed_status_keeps_each_status() -> None:
    """The status of the group is only for alerts that have none."""
    body = a_body(an_entry(status="resolved"), an_entry(status=None), status="firing")

    assert ["resolved", "firing"] == [data_of(each).status for each in mapped(body)]


def test_go_writes_no_time_as_year_one() -> None:
    """The zero time becomes no time at all."""
    (envelope,) = mapped(a_body(an_entry(startsAt=NO_END)))

    assert (None, None) == (data_of(envelope).starts_at, envelope.time)


def test_a_heartbeat_is_no_signal() -> None:
    """A watchdog fires for ever and must never open a case."""
    heartbeat = an_entry(labels={"alertname": "Watchdog", "severity": "none"})

    assert ["EdgeLatencyHigh"] == [
        data_of(each).signal_kind for each in mapped(a_body(heartbeat, an_entry()))
    ]


def test_alerts_that_were_cut_off_are_noted() -> None:
    """A reader sees that the group was larger."""
    (envelope,) = mapped(a_body(truncatedAlerts=3))

    assert "3" == data_of(envelope).annotations["truncated_alerts"]


def test_a_bare_alert_gets_names_that_say_so() -> None:
    """Missing labels and fingerprint are filled in, the same way each time."""
    entry = an_entry(labels={"pod": "p-1"}, fingerprint=None)
    (envelope,) = mapped(a_body(entry))
    (again,) = mapped(a_body(entry))
    alert = data_of(envelope)

    assert ("unnamed_alert", "unknown", None) == (
        alert.signal_kind,
        alert.severity,
        alert.service,
    )
    assert 16 == len(alert.fingerprint)
    assert envelope.id == again.id


@pytest.mark.parametrize(
    ("labels", "service"),
    [
        ({"service": "a", "app": "b"}, "a"),
        ({"app": "b", "job": "exporter"}, "b"),
        ({"deployment": "d", "job": "kube-state-metrics"}, "d"),
        ({"job": "j"}, "j"),
        ({"pod": "p"}, None),
    ],
)
def test_the_most_telling_label_names_the_service(
    labels: dict[str, str], service: str | None
) -> None:
    """What an alert is about comes before what watches it."""
    (envelope,) = mapped(a_body(an_entry(labels=labels)))

    assert service == data_of(envelope).service


def test_values_that_are_no_text_become_text() -> None:
    """Numbers are written as JSON writes them, null is as good as absent."""
    (envelope,) = mapped(a_body(an_entry(annotations={"n": 3, "yes": True, "no": None})))

    assert {"n": "3", "yes": "true"} == data_of(envelope).annotations


def test_without_an_environment_a_label_names_it() -> None:
    """The caller's word comes first; with neither the alert is refused."""
    labels = {"alertname": "X", "env": "staging"}
    (envelope,) = alertmanager(a_body(an_entry(labels=labels)), tenant="acme")

    assert "staging" == data_of(envelope).environment
    with pytest.raises(WrongInput, match="MISSING_ENVIRONMENT"):
        alertmanager(a_body(), tenant="acme")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ([], "SCHEMA_INVALID: the body"),
        ({"version": "4"}, "SCHEMA_INVALID: alerts: missing"),
        (a_body(alerts={"a": 1}), "SCHEMA_INVALID: alerts: missing, or not a list"),
        (a_body(alerts=["x"]), r"SCHEMA_INVALID: alerts\[0\]: not a JSON object"),
        (a_body(version="1"), "UNKNOWN_FORMAT: webhook version 1"),
        (a_body(an_entry(), an_entry(status="weird")), r"alerts\[1\]: status"),
        (a_body(an_entry(startsAt="yesterday")), r"alerts\[0\].startsAt: not an RFC"),
        (a_body(an_entry(labels=["a"])), r"alerts\[0\].labels: not a JSON object"),
        (a_body(an_entry(labels={"a": {"b": "c"}})), r"alerts\[0\].labels: a value"),
        (a_body(an_entry(fingerprint=7)), r"alerts\[0\]: fingerprint"),
        (a_body(an_entry(annotations={"a": "\x00"})), r"alerts\[0\]: annotations.*NUL"),
    ],
)
def test_a_wrong_body_is_refused_with_the_place(body: Any, told: str) -> None:
    """A person learns which alert is wrong, and nothing is mapped."""
    with pytest.raises(WrongInput, match=told):
        mapped(body)


def test_the_key_is_tenant_environment_and_service() -> None:
    """Alerts about one service keep their order."""
    (envelope,) = mapped(a_body())

    assert b"acme/production/checkout" == key_of(envelope)
