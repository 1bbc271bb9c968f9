"""The join over time: open, admit, park, late, stale, at odds, close."""

from dataclasses import replace
from typing import Any

import pytest

from consumers.decider import Message
from consumers.join_engine import decider as join
from consumers.join_engine.reactions import (
    CheckResult,
    CloseJoin,
    ExpireBranch,
    FailBranch,
    JoinCommand,
    OpenJoin,
    react,
)
from consumers.join_engine.verdicts import Draft
from event_schemas.deadlines import DeadlinePassed
from event_schemas.delegations import DelegationRejected
from event_schemas.joins import ConflictRecorded, JoinClosed, JoinOpened
from event_schemas.payload import Payload
from event_schemas.plans import PlanAccepted
from event_schemas.results import (
    ResultAccepted,
    ResultHashConflict,
    ResultLate,
    ResultParked,
    ResultRejected,
    ResultStale,
    ResultSubmitted,
)
from tests.support.builders import (
    RUN,
    a,
    a_claim,
    a_plan,
    a_submission,
    all_intact,
    history,
    task_of,
)
from tests.support.given import given, names_of


def after(facts: list[Payload], *commands: JoinCommand) -> list[Payload]:
    """Return *facts* and what follows from *commands*, one after the other."""
    facts = list(facts)
    for command in commands:
        seen = all_intact(command.submitted) if isinstance(command, CheckResult) else None
        facts += given(join, *facts)(command, seen)
    return facts


def answer(plan: PlanAccepted, step: str, **changes: Any) -> CheckResult:
    """Return the command to check the answer of S1 to *step* with *changes*."""
    return CheckResult(a_submission(plan, step, **changes), "prod-cn", f"event-{step}")


def following(plan: PlanAccepted, *commands: JoinCommand) -> list[Payload]:
    """Return what follows from *commands* after the join of *plan* opened."""
    return after([], OpenJoin(plan), *commands)[1:]


def closed_of(facts: list[Payload]) -> JoinClosed:
    """Return the one conclusion among *facts*."""
    [closed] = [fact for fact in facts if isinstance(fact, JoinClosed)]
    return closed


def test_opening_names_the_whole_expected_set() -> None:
    """JCON-03, JOIN-19 of the plan: contract and all branches in one event."""
    plan = a_plan()
    [opened] = given(join)(OpenJoin(plan))

    assert isinstance(opened, JoinOpened)
    assert ["logs", "metrics", "changes"] == [each.step_id for each in opened.expected]
    assert plan.join == opened.contract


def test_a_join_opens_once() -> None:
    """The plan delivered again changes nothing."""
    plan = a_plan()

    assert [] == following(plan, OpenJoin(plan))


def test_all_answers_close_the_join_with_the_conflict_kept() -> None:
    """S1: three accepted, one conflict recorded, both claims side by side (CONF-01)."""
    plan = a_plan()
    facts = following(
        plan, *(answer(plan, step) for step in ("logs", "metrics", "changes"))
    )

    [conflict] = [fact for fact in facts if isinstance(fact, ConflictRecorded)]
    assert "compare_first_occurrence_and_dependency_path" == conflict.conflict.next_query
    assert {
        "claim-log-17": "connection_pool_exhaustion",
        "claim-sec-08": "risk_rule_change",
    } == {claim.claim_id: claim.value for claim in conflict.conflict.claims}
    closed = closed_of(facts)
    assert ("all_satisfied", "PARTIAL_EVIDENCE") == (closed.reason, closed.outcome)
    assert (conflict.conflict,) == closed.conflicts
    assert "unresolved" == conflict.conflict.resolution


def test_each_accepted_result_is_the_next_state_version() -> None:
    """JOIN-08: the aggregate state counts accepted results."""
    plan = a_plan()
    facts = following(plan, answer(plan, "changes"), answer(plan, "logs"))

    versions = [fact.state_version for fact in facts if isinstance(fact, ResultAccepted)]
    assert [1, 2] == versions


def test_the_same_answer_again_is_nothing() -> None:
    """JOIN-10, LATE-01, LATE-08: equal hash, no new fact; after the end as well."""
    plan = a_plan()
    answers = [answer(plan, step) for step in ("logs", "metrics", "changes")]
    facts = following(plan, answers[0], answers[0], *answers[1:])

    assert facts == following(plan, *answers)
    assert facts == following(plan, *answers, *answers)


def test_another_answer_to_the_same_task_is_a_hash_conflict() -> None:
    """JOIN-11: never last-write-wins; the same other answer is reported once."""
    plan = a_plan()
    other = answer(plan, "logs", summary="changed")
    facts = following(plan, answer(plan, "logs"), other, other)

    [conflict] = [fact for fact in facts if isinstance(fact, ResultHashConflict)]
    assert conflict.accepted_hash != conflict.other_hash
    assert other.submitted.content_hash == conflict.other_hash
    assert 1 == len([fact for fact in facts if isinstance(fact, ResultAccepted)])


def test_a_rejected_answer_again_is_nothing() -> None:
    """The same broken bytes are refused once."""
    plan = a_plan()
    broken = answer(plan, "logs", claims=None)

    assert ["ResultRejected"] == names_of(following(plan, broken, broken))


def test_another_answer_after_a_rejected_one_is_late_and_not_merged() -> None:
    """The branch has failed; what comes then is recorded and changes nothing."""
    plan = a_plan()
    facts = following(plan, answer(plan, "logs", claims=None), answer(plan, "logs"))

    assert isinstance(facts[-1], ResultLate)
    assert not facts[-1].merge


def test_a_result_before_its_plan_is_parked_and_taken_up() -> None:
    """LATE-07: it waits as a fact, and is decided on what was seen when it came."""
    plan = a_plan()
    early = answer(plan, "logs")
    parked = after([], early, early)
    facts = after(parked, OpenJoin(plan))

    assert ["ResultParked"] == names_of(parked)
    assert isinstance(parked[0], ResultParked)
    assert ("event-logs", "prod-cn") == (parked[0].submitted_event, parked[0].tenant)
    assert ["JoinOpened", "ArtifactVerified", "ArtifactVerified", "ResultAccepted"] == (
        names_of(facts[1:])
    )
    assert facts == after(facts, early)


def test_a_parked_result_of_nobodys_task_stays_parked() -> None:
    """A result for a task outside the plan enters nothing."""
    plan = a_plan()
    stray = answer(plan, "logs")
    stray = replace(stray, submitted=stray.submitted.model_copy(update={"task_id": "x"}))
    facts = following(plan, stray, stray)

    assert ["ResultParked"] == names_of(facts)


def test_a_result_of_an_earlier_plan_is_stale() -> None:
    """RES-08, JOIN-09: recorded, never merged, and recorded once."""
    plan = a_plan().model_copy(update={"version": 2})
    stale = answer(plan, "logs", plan_version=1)
    facts = following(plan, stale)

    assert isinstance(facts[0], ResultStale)
    assert (1, 2) == (facts[0].plan_version, facts[0].current_plan_version)
    assert not any(isinstance(fact, ResultAccepted) for fact in facts)


def test_the_due_time_of_a_branch_fails_it() -> None:
    """S1-a: silence is a failure with a reason; the others are still awaited."""
    plan = a_plan()
    metric = task_of(plan, "metrics")
    facts = following(plan, ExpireBranch(metric), ExpireBranch(metric))

    [rejected] = facts
    assert isinstance(rejected, ResultRejected)
    assert ("deadline", "DELEGATION_TIMEOUT", None) == (
        rejected.check,
        rejected.reason,
        rejected.content_hash,
    )


def test_a_refused_order_fails_its_branch_with_its_reason() -> None:
    """A specialist that refuses the order is not waited for."""
    plan = a_plan()
    [rejected] = following(plan, FailBranch(task_of(plan, "logs"), "TOKEN_INVALID"))

    assert isinstance(rejected, ResultRejected)
    assert ("order", "TOKEN_INVALID") == (rejected.check, rejected.reason)


def test_silence_of_one_branch_closes_by_deadline() -> None:
    """S1-a: impact is unproven, so the evidence is insufficient."""
    plan = a_plan()
    commands: list[JoinCommand] = [answer(plan, "logs"), answer(plan, "changes")]
    closed = closed_of(following(plan, *commands, ExpireBranch(task_of(plan, "metrics"))))

    assert ("deadline", "INSUFFICIENT_EVIDENCE") == (closed.reason, closed.outcome)
    assert ("impact_metric",) == closed.missing_evidence_types
    assert ("metrics",) == closed.failed_specialists


def test_the_join_deadline_closes_with_what_is_there() -> None:
    """JOIN-12: results that meet the minimum are published with what is unfinished."""
    plan = a_plan()
    commands: list[JoinCommand] = [answer(plan, "logs"), answer(plan, "metrics")]
    commands.append(CloseJoin(plan.join.join_id))
    facts = following(plan, *commands)

    closed = closed_of(facts)
    assert ("deadline", "PARTIAL_EVIDENCE") == (closed.reason, closed.outcome)
    assert (("changes",), ()) == (closed.missing_specialists, closed.failed_specialists)
    assert facts == following(plan, *commands, CloseJoin(plan.join.join_id))


@pytest.mark.parametrize(
    "command", [CloseJoin("j"), ExpireBranch("t"), FailBranch("t", "r")]
)
def test_time_means_nothing_to_a_join_that_is_not_open(command: JoinCommand) -> None:
    """A due time or a refusal that nobody waits for leaves no fact."""
    assert [] == given(join)(command)


def test_an_answered_branch_does_not_expire() -> None:
    """The due time of a branch that answered, or of a closed join, is nothing."""
    plan = a_plan()
    logs = task_of(plan, "logs")
    first = following(plan, answer(plan, "logs"))
    closed = following(plan, CloseJoin("j"))

    assert first == following(plan, answer(plan, "logs"), ExpireBranch(logs))
    assert closed == following(plan, CloseJoin("j"), ExpireBranch(logs))


@pytest.mark.parametrize(
    ("policy", "merge"),
    [
        ("append_new_revision", True),
        ("record_but_do_not_merge", False),
        ("discard", False),
    ],
)
def test_a_late_result_follows_the_policy(policy: str, *, merge: bool) -> None:
    """LATE-02, S1-d: recorded under every policy, merged under one."""
    plan = a_plan(late_result_policy=policy)
    facts = following(
        plan, CloseJoin("j"), answer(plan, "metrics"), answer(plan, "metrics")
    )

    [late] = [fact for fact in facts if isinstance(fact, ResultLate)]
    assert (policy, merge) == (late.policy, late.merge)


def test_a_late_result_that_fails_a_check_is_not_merged() -> None:
    """JOIN-07: lateness opens no back door."""
    plan = a_plan()
    late = following(plan, CloseJoin("j"), answer(plan, "logs", agent_id="other@1"))[-1]

    assert isinstance(late, ResultLate)
    assert (False, None, "SPECIALIST_MISMATCH") == (late.merge, late.result, late.reason)


def test_late_results_conflict_with_each_other_too() -> None:
    """CONF-02: what was merged late stands beside what is merged later."""
    plan = a_plan()
    facts = following(
        plan,
        answer(plan, "metrics"),
        CloseJoin("j"),
        answer(plan, "logs"),
        answer(plan, "changes"),
    )

    first, second = (fact for fact in facts if isinstance(fact, ResultLate))
    assert () == first.conflicts
    assert ["primary_cause"] == [each.topic for each in second.conflicts]


def test_a_merged_late_answer_is_not_replaced() -> None:
    """JOIN-11: a second, different late answer is a hash conflict like any other."""
    plan = a_plan()
    late, other = answer(plan, "logs"), answer(plan, "logs", summary="changed")
    facts = following(plan, CloseJoin("j"), late, other)

    assert ["JoinClosed", "ResultLate", "ResultHashConflict"] == names_of(facts)


def test_a_late_answer_may_cite_what_was_merged_before_it() -> None:
    """AMB-34: evidence in the report is known, whenever it came into it."""
    plan = a_plan()
    cites = [a_claim(1, key="k", evidence_refs=["ev-metric-07"])]
    facts = following(
        plan, CloseJoin("j"), answer(plan, "metrics"), answer(plan, "logs", claims=cites)
    )

    assert isinstance(facts[-1], ResultLate)
    assert facts[-1].merge


def test_a_draft_has_no_contract_before_the_join_opens() -> None:
    """A contract is read from the plan, never assumed."""
    with pytest.raises(ValueError, match="not open"):
        _ = Draft(join.initial()).contract


REACTIONS: list[tuple[Payload, type[JoinCommand] | None]] = [
    (a(PlanAccepted), OpenJoin),
    (a(ResultSubmitted), CheckResult),
    (a(DelegationRejected), FailBranch),
    (a(DeadlinePassed, about="delegation"), ExpireBranch),
    (a(DeadlinePassed, about="join"), CloseJoin),
    (a(DeadlinePassed, about="run"), None),
    (a(JoinClosed), None),
]


@pytest.mark.parametrize(("fact", "command"), REACTIONS)
def test_facts_of_others_become_commands(
    fact: Payload, command: type[JoinCommand] | None
) -> None:
    """The join reads plans, results, refusals and due times, and nothing else."""
    [(envelope, payload)] = history([fact])
    intents = react(Message(envelope, payload, "events", 0, 0, b""))

    assert ([command] if command else []) == [type(intent.command) for intent in intents]
    assert all((f"join/{RUN}", RUN) == (each.stream, each.key) for each in intents)


def test_a_fact_without_a_run_has_no_join() -> None:
    """Nothing outside a run is joined."""
    [(envelope, payload)] = history([a(ResultSubmitted)])
    message = Message(replace(envelope, runid=None), payload, "events", 0, 0, b"")

    assert [] == list(react(message))
