"""When the trouble began, as far as the alerts tell: what counts as before and as after."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from consumers.specialists.questions import Question, ToolCall, Window

# An alert fires after its evaluation period, so its own minute and a bit is already abnormal;
# the minutes before that belong to neither side.
_EVALUATION = timedelta(seconds=60)
_DOUBTFUL = timedelta(seconds=110)


class Split(NamedTuple):
    """Until when things were normal, and from when on they were not."""

    baseline_until: datetime
    abnormal_from: datetime


def instant(value: object) -> datetime | None:
    """Return *value* as an aware time when it is one, in whatever form JSON carried it."""
    if isinstance(value, datetime):
        return value if value.tzinfo else None
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return at if at.tzinfo and at.year > 1 else None


def alarm_at(question: Question) -> datetime:
    """Return when the first alert fired."""
    times = [instant(signal.get("starts_at")) for signal in question.signals]
    known = [at for at in times if at is not None]
    return min(known, default=question.window.end)


def stated_onset(question: Question) -> datetime | None:
    """Return the onset that an alert itself states, None when none does."""
    alarm = alarm_at(question)
    stated = [
        at
        for signal in question.signals
        for at in _stated(signal)
        if question.window.start < at <= alarm
    ]
    return min(stated, default=None)


def _stated(signal: Mapping[str, Any]) -> list[datetime]:
    annotations = signal.get("annotations")
    notes = annotations if isinstance(annotations, Mapping) else {}
    values = (signal.get("onset"), notes.get("onset"), signal.get("window_start"))
    return [at for at in map(instant, values) if at is not None]


def split(question: Question) -> Split:
    """Return the two sides that the tools compare for *question*, inside its window."""
    onset = stated_onset(question) or alarm_at(question) - _EVALUATION
    return Split(
        _inside(question.window, onset - _DOUBTFUL), _inside(question.window, onset)
    )


def _inside(window: Window, at: datetime) -> datetime:
    return min(max(at, window.start), window.end)


def compare_call(tool: str, question: Question, **more: Any) -> ToolCall:  # noqa: ANN401
    """Return a call of *tool* over the question's services that compares the two sides."""
    sides = split(question)
    return ToolCall(
        tool=tool,
        arguments={
            "services": list(question.services),
            "baseline_until": sides.baseline_until.isoformat(),
            "abnormal_from": sides.abnormal_from.isoformat(),
            **more,
        },
    )
