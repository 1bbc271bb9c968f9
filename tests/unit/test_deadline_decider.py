"""The clock: which due times a fact opens, and which it ends."""

from dataclasses import replace
from datetime import UTC, datetime

from consumers.deadline_clock import decider as clock
from consumers.deadline_clock.decider import Forget, Watch, react
from consumers.deadline_clock.table import Due
from consumers.deadline_clock.ticker import due_fact
from consumers.decider import Message
from event_schemas.deadlines import DeadlinePassed
from event_schemas.delegations import DelegationCompleted, DelegationCreated
from event_schemas.ids import event_id
from event_schemas.joins import JoinClosed, JoinOpened
from event_schemas.payload import Payload
from event_schemas.registry import BY_PAYLOAD
from event_schemas.results import ResultSubmitted
from event_schemas.runs import IncidentStarted, RunCompleted
from tests.support.builders import BEGAN, RUN, a, history
from tests.support.given import given, state_of

AT = datetime(2026, 7, 23, 2, 8, tzinfo=UTC)


def commands(fact: Payload) -> list[Watch | Forget]:
    """Return what the clock does about *fact*."""
    [(envelope, payload)] = history([fact])
    return [i.command for i in react(Message(envelope, payload, "events", 0, 0, b""))]


def test_what_begins_is_watched_until_its_due_time() -> None:
    """INT-09: a run, a join and a delegation each have one due time, named by the fact."""
    started, opened, created = a(IncidentStarted), a(JoinOpened), a(DelegationCreated)
    [run], [join], [task] = commands(started), commands(opened), commands(created)

    assert isinstance(run, Watch)
    assert ("run", started.run_id, started.deadline_at) == (
        run.about,
        run.subject_id,
        run.due_at,
    )
    assert isinstance(join, Watch)
    assert ("join", opened.join_id, opened.contract.deadline_at) == (
        join.about,
        join.subject_id,
        join.due_at,
    )
    assert isinstance(task, Watch)
    assert ("delegation", created.task_id, created.delegation.deadline_at) == (
        task.about,
        task.subject_id,
        task.due_at,
    )


def test_what_ended_is_forgotten() -> None:
    """Nobody is told about a time that no longer matters; a run's end ends them all."""
    ended, closed, completed = a(DelegationCompleted), a(JoinClosed), a(RunCompleted)

    assert [Forget("delegation", ended.task_id)] == commands(ended)
    assert [Forget("join", closed.join_id)] == commands(closed)
    assert [Forget(None, completed.run_id)] == commands(completed)


def test_other_facts_are_nothing_to_the_clock() -> None:
    """A result opens and ends no due time."""
    assert [] == commands(a(ResultSubmitted))


def test_a_fact_outside_a_run_is_passed_over() -> None:
    """Without a run there is nobody to tell."""
    [(envelope, payload)] = history([a(IncidentStarted)])
    message = Message(replace(envelope, runid=None), payload, "events", 0, 0, b"")

    assert [] == list(react(message))


def test_due_times_travel_under_the_key_of_their_run() -> None:
    """The fact that a time is over lands in the partition of everything else of the run."""
    [(envelope, payload)] = history([a(IncidentStarted)])
    [intent] = react(Message(envelope, payload, "events", 0, 0, b""))

    assert (f"deadline/{RUN}", RUN, RUN) == (intent.stream, intent.key, intent.run_id)


def test_watching_is_a_row_and_no_fact() -> None:
    """Only a time that is over becomes a fact."""
    assert [] == given(clock)(Watch("run", "r", AT, "c"))
    assert state_of(clock, a(IncidentStarted)) is None


def test_a_due_time_is_one_fact_however_many_clocks_tell_it() -> None:
    """The id is that of the deadline, not of who saw it first."""
    due = Due("delegation", "t", RUN, RUN, "prod-cn", AT, "cause", BEGAN)
    fact = due_fact(due, "caseops")
    later = due_fact(replace(due, now=AT), "caseops")

    stream = f"deadline/{RUN}/delegation/t"
    assert (stream, 1, event_id(stream, 1)) == (fact.stream, fact.streamversion, fact.id)
    assert fact.id == later.id
    assert ("cause", RUN, "deadline_clock") == (fact.causationid, fact.key, fact.writer)
    assert ("caseops.events",) == fact.topics
    assert BY_PAYLOAD[DeadlinePassed].name == fact.type
    payload = DeadlinePassed.model_validate_json(fact.data)
    assert (AT, BEGAN) == (payload.due_at, payload.observed_at)
