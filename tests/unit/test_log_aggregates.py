"""Templates, flows and call times: what the log tools count."""

from datetime import timedelta

from consumers.specialists.logs.call_times import edge_shifts, entry_services
from consumers.specialists.logs.flows import log_breaks, silent_breaks, span_breaks
from consumers.specialists.logs.templates import masked, templates
from consumers.specialists.onset import Split
from consumers.specialists.telemetry import LogLine, Span, TraceEdge
from tests.support.case_folders import DROPPED, START

SIDES = Split(DROPPED - timedelta(minutes=2), DROPPED)


def _line(seconds: float, message: str, **more: str) -> LogLine:
    defaults = {"pod": "p", "level": "INFO", "logger": "", "trace_id": "", "span_id": ""}
    return LogLine(
        ts=START + timedelta(seconds=seconds),
        service="api",
        message=message,
        **(defaults | more),  # type: ignore[arg-type]
    )


def _span(number: int, seconds: float, operation: str, parent: int | None = None) -> Span:
    return Span(
        trace_id=f"t{seconds:.0f}",
        span_id=str(number),
        parent_id=None if parent is None else str(parent),
        service="callee" if operation.startswith("serve") else "api",
        operation=operation,
        start=START + timedelta(seconds=seconds, milliseconds=number),
        duration_ms=1.0,
    )


def _edge(
    minute: int, gap: float | None, *, spans: int = 10, caller: str = "web"
) -> TraceEdge:
    return TraceEdge(
        minute=START + timedelta(minutes=minute),
        phase="window",
        caller=caller,
        callee="api",
        operation="GET /",
        spans=spans,
        p50_ms=5.0,
        p95_ms=9.0,
        max_ms=10.0,
        client_gap_p50_ms=gap,
    )


def test_variable_parts_are_masked() -> None:
    """Ids, hashes, addresses and numbers do not make two templates of one."""
    first = masked("order 8f14e45f-ceea-467a-9af0-1234567890ab from 10.0.0.1:80 took 5 ms")
    second = masked(
        "order 1f14e45f-ceea-467a-9af0-1234567890ac from 10.9.0.7:81 took 77 ms"
    )

    assert first == second == "order # from # took # ms"


def test_a_new_template_is_counted_with_its_first_time() -> None:
    """What appears only after the onset is told with its first occurrence."""
    late = (DROPPED - START).total_seconds()
    lines = [_line(n, f"ok {n}") for n in range(20)]
    lines += [_line(late + n, f"boom {n}", level="ERROR") for n in range(3)]
    (found,) = templates(lines, SIDES)

    assert ("boom #", 0, 3) == (found.template, found.baseline, found.abnormal)
    assert found.first_seen == START + timedelta(seconds=late)


def test_quiet_templates_that_were_there_before_are_left_out() -> None:
    """Answers stay small: normal operation is not told."""
    assert templates([_line(n, "ok") for n in range(5)], SIDES) == ()


def _flow(seconds: float, *statements: str) -> list[LogLine]:
    return [
        _line(
            seconds + place / 10,
            "m",
            logger=name.partition("|")[0],
            level=name.partition("|")[2] or "INFO",
            trace_id="t",
            span_id=str(seconds),
        )
        for place, name in enumerate(statements)
    ]


def test_a_flow_that_ends_early_is_cut_short() -> None:
    """A statement that used to be followed by another is now the last one."""
    late = (DROPPED - START).total_seconds()
    lines = [line for n in range(9) for line in _flow(n, "A#1", "A#2")]
    lines += [line for n in range(9) for line in _flow(late + n, "A#1")]
    (found,) = log_breaks(lines, SIDES)

    assert ("cut_short", "A#1|INFO", {"end": 9}) == (found.kind, found.place, found.after)


def test_a_flow_that_turns_to_an_error_is_an_error_branch() -> None:
    """The same service now takes the branch that logs an error."""
    late = (DROPPED - START).total_seconds()
    lines = [line for n in range(9) for line in _flow(n, "A#1", "A#2")]
    lines += [line for n in range(9) for line in _flow(late + n, "A#1", "A#3|ERROR")]

    assert ["error_branch"] == [each.kind for each in log_breaks(lines, SIDES)]


def test_an_unchanged_flow_is_no_break() -> None:
    """The same steps in the same shares are no finding, however often they run."""
    late = (DROPPED - START).total_seconds()
    lines = [line for n in range(9) for line in _flow(n, "A#1", "A#2")]
    lines += [line for n in range(50) for line in _flow(late + n, "A#1", "A#2")]

    assert log_breaks(lines, SIDES) == ()


def _trace(seconds: float, *, whole: bool) -> list[Span]:
    spans = [_span(1, seconds, "request"), _span(2, seconds, "call", 1)]
    spans.append(_span(3, seconds, "serve", 2))
    return [*spans, _span(4, seconds, "save", 1)] if whole else spans


def test_a_cut_path_names_who_was_called_last() -> None:
    """When requests end after a call, the answer names the callee beside the caller."""
    late = (DROPPED - START).total_seconds()
    spans = [span for n in range(9) for span in _trace(n, whole=True)]
    spans += [span for n in range(9) for span in _trace(late + n, whole=False)]
    found = {each.place: each for each in span_breaks(spans, SIDES)}

    assert ("cut_short", ("callee",)) == (
        found["request > call"].kind,
        found["request > call"].also,
    )


def test_an_operation_that_stops_logging_is_silent() -> None:
    """It is still called, but fails before its first log statement."""
    late = (DROPPED - START).total_seconds()
    spans = [_span(1, n, "op") for n in range(6)]
    spans += [_span(1, late + n, "op") for n in range(6)]
    lines = [_line(n, "hello", trace_id=f"t{n}", span_id="1") for n in range(6)]

    assert ["start > op"] == [each.place for each in silent_breaks(spans, lines, SIDES)]


def test_a_wider_gap_shows_with_its_first_minute() -> None:
    """The gap between client and server tells a slow wire from a slow service."""
    edges = [_edge(n, 3.0) for n in range(10)] + [_edge(n, 400.0) for n in (17, 18)]
    (found,) = edge_shifts(edges, SIDES)

    assert (3.0, 400.0) == (found.gap_before, found.gap_after)
    assert found.gap_since == START + timedelta(minutes=17)


def test_entry_rows_name_the_doors_and_are_no_calls() -> None:
    """Requests from outside have no client span to compare with."""
    edges = [_edge(1, None, caller="(entry)")]

    assert ("api",) == entry_services(edges)
    assert edge_shifts(edges, SIDES) == ()
