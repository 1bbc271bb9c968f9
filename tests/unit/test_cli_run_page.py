"""The page of a run: what a person must be able to tell from it."""

from typing import Any

import pytest

from caseops.run_page import page
from event_schemas.alerts import AlertReceived
from event_schemas.cases import CaseOpened, IntakeAccepted
from event_schemas.delegations import DelegationCreated
from event_schemas.joins import ConflictRecorded
from event_schemas.payload import Payload
from event_schemas.results import ResultSubmitted
from event_schemas.runs import IncidentStarted, ReportPublished, RunCompleted
from projections.case_view.fold import fold, initial
from projections.case_view.overview import overview
from projections.case_view.wording import RESULT_TEXTS
from projections.projection import Place
from tests.support.builders import RUN, TASKS, a, a_result, history

BEGUN = (
    a(AlertReceived),
    a(CaseOpened),
    a(IntakeAccepted),
    a(IncidentStarted),
    a(DelegationCreated),
)


def page_of(*facts: Payload) -> str:
    """Return the page of a run after *facts*."""
    state: Any = initial(Place(RUN, 0, 0))
    for envelope, fact in history([*BEGUN, *facts]):
        state = fold(state, envelope, fact)
    completion: dict[str, Any] | None = {} if state["completion_id"] else None
    return page({**state, "completion": completion, "task": overview(state)})


def test_a_running_page_says_what_it_waits_for() -> None:
    """USER-01: stage, owner and the answers still to come."""
    text = page_of()

    assert "stage        collecting" in text
    assert "responsible  team-payments" in text
    assert "waiting      answer of logs" in text
    assert "No judgement yet" in text


def test_the_judgement_names_causes_with_evidence() -> None:
    """USER-09: impact, ranked causes, each with the evidence it rests on, and the advice."""
    submitted = a(ResultSubmitted, task_id=TASKS["logs"], result=a_result())
    report = a(ReportPublished).report.model_dump(mode="json")
    report["causes"][0]["claim_ids"] = ["claim-1"]
    text = page_of(submitted, a(ReportPublished, report=report), a(RunCompleted))

    assert "impact       success rate 99.6 % to 93.1 %" in text
    assert "1. payment-api: connection_pool_exhaustion (0.84)" in text
    assert "claim-1 rests on ev-1" in text
    assert "Advice" in text


def test_a_conflict_shows_both_sides_and_the_word() -> None:
    """USER-09: an unresolved conflict is called unresolved, with both claims."""
    text = page_of(a(ConflictRecorded))

    assert "Conflict on primary_cause: unresolved" in text
    assert "logs: connection_pool_exhaustion" in text
    assert "changes: risk_rule_change" in text


@pytest.mark.parametrize("status", ["partial", "degraded", "no_data", "failed"])
def test_result_states_are_told_apart(status: str) -> None:
    """USER-05: each result state has its own sentence on the page."""
    text = page_of(a(RunCompleted, result_status=status))

    assert [status] == [name for name, line in RESULT_TEXTS.items() if line in text]


def test_an_unaccepted_claim_is_marked() -> None:
    """A claim that the join has not accepted never reads like one that it has."""
    text = page_of(a(ResultSubmitted, task_id=TASKS["logs"], result=a_result()))

    assert "claim-1 NOT accepted (submitted)" in text
