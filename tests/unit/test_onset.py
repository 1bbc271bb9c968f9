"""When the trouble began, as far as alerts tell."""

from datetime import timedelta
from typing import Any

from consumers.specialists.onset import alarm_at, compare_call, split, stated_onset
from consumers.specialists.questions import Question, Window
from tests.support.case_folders import DROPPED, END, FIRED, START, text


def _question(*signals: dict[str, Any]) -> Question:
    return Question(
        task_id="t", goal="g", services=("a",), window=Window(START, END), signals=signals
    )


def test_the_first_alert_sets_the_alarm() -> None:
    """Of several alerts the earliest counts."""
    later = {"starts_at": text(FIRED + timedelta(seconds=20))}

    assert alarm_at(_question(later, {"starts_at": text(FIRED)})) == FIRED


def test_without_alerts_the_end_of_the_window_is_the_alarm() -> None:
    """A question from a person has no alert."""
    assert alarm_at(_question()) == END


def test_a_stated_onset_wins_over_the_alarm() -> None:
    """An alert that says when things went wrong is believed."""
    question = _question(
        {"starts_at": text(FIRED), "annotations": {"onset": text(DROPPED)}}
    )

    assert stated_onset(question) == DROPPED
    assert split(question).abnormal_from == DROPPED


def test_the_start_of_the_investigated_window_is_no_onset() -> None:
    """A window that begins where the question's window begins says nothing."""
    question = _question({"starts_at": text(FIRED), "window_start": text(START)})

    assert stated_onset(question) is None


def test_unreadable_and_zero_times_are_ignored() -> None:
    """Alertmanager's zero time and plain nonsense are no times."""
    zero = {"starts_at": "0001-01-01T00:00:00Z"}

    assert alarm_at(_question(zero, {"starts_at": "soon"}, {"starts_at": 7})) == END


def test_the_minutes_around_the_onset_belong_to_neither_side() -> None:
    """Baseline ends well before the abnormal side begins."""
    sides = split(_question({"starts_at": text(FIRED)}))

    assert timedelta(seconds=110) == sides.abnormal_from - sides.baseline_until


def test_a_call_carries_both_sides_and_the_services() -> None:
    """Tools get what they compare as plain arguments."""
    call = compare_call("search_logs@2", _question({"starts_at": text(FIRED)}), extra=1)

    assert call.arguments["services"] == ["a"]
    assert set(call.arguments) == {"services", "baseline_until", "abnormal_from", "extra"}


def test_both_sides_stay_inside_the_window() -> None:
    """A read beyond the granted window would be refused."""
    early = {"starts_at": text(START - timedelta(hours=1))}

    assert (START, START) == split(_question(early))
