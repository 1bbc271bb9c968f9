"""Derived identifiers: the same parts, the same id; other parts, another."""

from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from event_schemas.ids import derived_id, event_id, run_id, trace_id, traceparent


def test_ids_are_fixed_for_ever() -> None:
    """A change here would make every recorded event a stranger."""
    assert "4c43a85e-195a-5b8f-a33d-a0366dbc0bee" == event_id("run/r", 1)
    assert "aae715ae-0d5e-51a4-8139-48b1bfc0603e" == run_id("case/c", 1)


@settings(max_examples=50, deadline=None)
@given(st.text(min_size=1, max_size=20), st.integers(1, 9))
def test_ids_follow_from_stream_and_version(stream: str, version: int) -> None:
    """The same place gives the same id, the next version another, a run id is neither."""
    here = event_id(stream, version)

    assert here == event_id(stream, version)
    assert 3 == len({here, event_id(stream, version + 1), run_id(stream, version)})
    assert 5 == UUID(here).version


def test_parts_are_told_apart_by_order() -> None:
    """Two parts in another order are another thing."""
    assert derived_id("a", "b") != derived_id("b", "a")


def test_all_messages_of_a_run_share_a_trace() -> None:
    """INT-05: one trace id per run, one parent per event, in the W3C form."""
    run, first, second = "r-1", event_id("run/r-1", 1), event_id("run/r-1", 2)
    one, two = traceparent(run, first).split("-"), traceparent(run, second).split("-")

    assert ["00", trace_id(run), UUID(first).hex[:16], "01"] == one
    assert one[1] == two[1]
    assert one[2] != two[2]
    assert 32 == len(trace_id(run))
