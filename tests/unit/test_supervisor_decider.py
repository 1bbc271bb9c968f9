"""The supervisor's rules: start with a plan, end tasks, judge once, revise."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from consumers.decider import Message
from consumers.join_engine import decider as join
from consumers.join_engine.reactions import CheckResult, CloseJoin, ExpireBranch, OpenJoin
from consumers.supervisor import consolidation
from consumers.supervisor import decider as supervisor
from consumers.supervisor.reactions import Consolidate, EndTask, Revise, StartRun, react
from consumers.supervisor.state import RunState
from event_schemas.cases import CaseOpened, IntakeAccepted
from event_schemas.delegations import (
    DelegationCompleted,
    DelegationCreated,
    DelegationDispatched,
    DelegationRejected,
    ExecuteDelegation,
)
from event_schemas.joins import JoinClosed
from event_schemas.payload import Payload
from event_schemas.plans import GoalCreated, PlanAccepted
from event_schemas.registry import BY_PAYLOAD
from event_schemas.results import ResultAccepted, ResultLate, ResultRejected
from event_schemas.runs import (
    IncidentStarted,
    ReportPublished,
    ReportRevised,
    RunCompleted,
    RunStatusChanged,
)
from tests.support.builders import (
    RUN,
    a,
    a_piece,
    a_playbook,
    a_started_run,
    a_submission,
    all_intact,
    an_accepted_case,
    history,
    task_of,
)
from tests.support.given import given, names_of, state_of

STEPS = ("logs", "metrics", "changes")
Command = StartRun | EndTask | Consolidate | Revise


def plan_in(facts: list[Payload]) -> PlanAccepted:
    """Return the plan among *facts*."""
    return next(fact for fact in facts if isinstance(fact, PlanAccepted))


def run_of(facts: list[Payload]) -> list[Payload]:
    """Return the facts of the run's own stream: orders are not on it."""
    return [fact for fact in facts if BY_PAYLOAD[type(fact)].stream == "run"]


def joined(plan: PlanAccepted, answers: dict[str, Any], *late: str) -> list[Payload]:
    """Return what the join decides on *answers* (None: silent) and on *late* ones."""
    facts = given(join)(OpenJoin(plan))

    def check(step: str, changes: dict[str, Any]) -> list[Payload]:
        submitted = a_submission(plan, step, **changes)
        command = CheckResult(submitted, "prod-cn", "e")
        return given(join, *facts)(command, all_intact(submitted))

    for step, changes in answers.items():
        if changes is None:
            facts += given(join, *facts)(ExpireBranch(task_of(plan, step)))
        else:
            facts += check(step, changes)
    facts += given(join, *facts)(CloseJoin("j"))
    for step in late:
        facts += check(step, {})
    return facts


def commands_of(facts: list[Payload]) -> list[Command]:
    """Return what the supervisor makes of the join's *facts*."""
    messages = (Message(*event, "events", 0, 0, b"") for event in history(facts))
    return [intent.command for message in messages for intent in react(message)]


def judged(answers: dict[str, Any], *late: str, **playbook: Any) -> list[Payload]:
    """Return all facts of a run whose join got *answers*, and *late* ones after its end."""
    facts = run_of(a_started_run(**playbook))
    for command in commands_of(joined(plan_in(facts), answers, *late)):
        facts += given(supervisor, *facts)(command)
    return facts


def completion_of(facts: list[Payload]) -> RunCompleted:
    """Return the one completion among *facts*."""
    [completed] = [fact for fact in facts if isinstance(fact, RunCompleted)]
    return completed


def test_a_run_starts_with_its_whole_plan() -> None:
    """S1 steps 1 to 3: start, goal, one plan, three delegations and three orders."""
    facts = a_started_run()

    assert [
        "IncidentStarted",
        "GoalCreated",
        "PlanAccepted",
        "RunStatusChanged",
        *["DelegationCreated"] * 3,
        *["DelegationDispatched", "ExecuteDelegation"] * 3,
        "RunStatusChanged",
    ] == names_of(facts)
    moves = [(f.previous, f.status) for f in facts if isinstance(f, RunStatusChanged)]
    assert [("received", "planned"), ("planned", "running")] == moves


def test_the_start_carries_what_replay_needs() -> None:
    """Playbook with content and digest, limits and the number of the rules."""
    [started] = [fact for fact in a_started_run() if isinstance(fact, IncidentStarted)]

    assert a_playbook() == started.observed
    assert (supervisor.RULES, an_accepted_case().deadline_at) == (
        started.rules,
        started.deadline_at,
    )


def test_the_goal_is_frozen_from_the_playbook() -> None:
    """S1 step 2: four outputs asked for, production writes forbidden."""
    [goal] = [fact for fact in a_started_run() if isinstance(fact, GoalCreated)]

    assert ("impact", "cause_candidates", "evidence_sufficiency", "next_step") == (
        goal.requested_outputs
    )
    assert ("no_production_write",) == goal.constraints


def test_the_plan_only_reads() -> None:
    """PLAN-06: no step above R0, and nothing that depends on another."""
    plan = plan_in(a_started_run())

    assert {("R0", ())} == {(step.risk, step.depends_on) for step in plan.steps}
    assert list(STEPS) == [step.step_id for step in plan.steps]


def test_deadlines_count_from_intake_and_never_pass_the_run() -> None:
    """INT-09: six minutes for a delegation, eight for the join, cut by an earlier deadline."""
    case = an_accepted_case()
    soon = case.received_at + timedelta(minutes=2)
    hurried = case.model_copy(update={"deadline_at": soon})
    plan = plan_in(given(supervisor)(StartRun(hurried), a_playbook()))
    late = case.received_at + timedelta(hours=1)
    free = case.model_copy(update={"deadline_at": late})
    wide = plan_in(given(supervisor)(StartRun(free), a_playbook()))

    assert {soon} == {plan.join.deadline_at, *(step.deadline_at for step in plan.steps)}
    assert {case.received_at + timedelta(minutes=6)} == {s.deadline_at for s in wide.steps}
    assert case.received_at + timedelta(minutes=8) == wide.join.deadline_at


def test_a_delegation_is_bounded() -> None:
    """DEL-01, DEL-04, DEL-14: scope, tools, criteria and the reason for this specialist."""
    created = [fact for fact in a_started_run() if isinstance(fact, DelegationCreated)]

    for fact in created:
        task = fact.delegation
        assert task.acceptance_criteria
        assert task.allowed_evidence_kinds
        assert task.required_scopes
        assert task.reason
        assert ("alert-8821",) == task.input_refs
        assert fact.task_id == task.delegation_task_id == task.idempotency_key
    assert 3 == len({fact.task_id for fact in created})


def test_an_order_names_its_dispatch_and_no_tenant() -> None:
    """DEL-03, SCHED-03: order and dispatch carry one id; the tenant is not in the question."""
    facts = a_started_run()
    dispatched = [fact for fact in facts if isinstance(fact, DelegationDispatched)]
    orders = [fact for fact in facts if isinstance(fact, ExecuteDelegation)]

    assert [f.dispatch_id for f in dispatched] == [f.dispatch_id for f in orders]
    assert list(STEPS) == [order.addressee for order in orders]
    assert not any("prod-cn" in order.delegation.model_dump_json() for order in orders)


def test_a_run_starts_once() -> None:
    """The accepted case delivered again is nothing; without a playbook nothing starts."""
    command = StartRun(an_accepted_case())

    assert [] == given(supervisor, *run_of(a_started_run()))(command, a_playbook())
    assert [] == given(supervisor)(command, None)


@pytest.mark.parametrize("kind", [EndTask, Consolidate, Revise])
def test_nothing_happens_to_a_run_that_has_not_started(kind: type[Command]) -> None:
    """A fact that overtook its run is not an answer to anything."""
    facts = {EndTask: a(ResultAccepted), Consolidate: a(JoinClosed), Revise: a(ResultLate)}

    assert [] == given(supervisor)(kind(facts[kind]))  # type: ignore[arg-type]


def test_an_accepted_result_completes_its_delegation() -> None:
    """S1 step 7: the delegation ends with what the join let in."""
    facts = run_of(a_started_run())
    accepted = next(
        fact
        for fact in joined(plan_in(facts), {"metrics": {}})
        if isinstance(fact, ResultAccepted)
    )
    [ended] = given(supervisor, *facts)(EndTask(accepted))

    assert isinstance(ended, DelegationCompleted)
    assert ("completed", "partial", ("other regions",)) == (
        ended.status,
        ended.result_status,
        ended.missing_evidence,
    )
    assert accepted.result.claims == ended.claims
    assert [] == given(supervisor, *facts, ended)(EndTask(accepted))


def ending(kind: type[Payload], **changes: Any) -> DelegationCompleted:
    """Return how the log delegation ends after a refusal of *kind*."""
    facts = run_of(a_started_run())
    task = task_of(plan_in(facts), "logs")
    [ended] = given(supervisor, *facts)(EndTask(a(kind, task_id=task, **changes)))  # type: ignore[arg-type]
    assert isinstance(ended, DelegationCompleted)
    return ended


@pytest.mark.parametrize(
    ("kind", "reason", "status"),
    [
        (ResultRejected, "SCHEMA_INVALID", "failed"),
        (ResultRejected, "DELEGATION_TIMEOUT", "expired"),
        (DelegationRejected, "TOKEN_INVALID", "rejected"),
    ],
)
def test_a_delegation_ends_for_a_reason(
    kind: type[Payload], reason: str, status: str
) -> None:
    """RES-07: refused by the join, out of time, or refused by the specialist."""
    ended = ending(kind, reason=reason)

    assert (status, reason, "failed") == (ended.status, ended.reason, ended.result_status)


def test_a_task_of_another_run_ends_nothing() -> None:
    """A result for a task this run never gave is nothing to it."""
    facts = run_of(a_started_run())

    assert [] == given(supervisor, *facts)(EndTask(a(ResultAccepted, task_id="other")))


def test_the_end_of_the_join_is_the_end_of_the_run() -> None:
    """S1 step 9: report, escalation and one completion, in this order."""
    facts = judged({step: {} for step in STEPS})

    assert [
        *["DelegationCompleted"] * 3,
        "RunStatusChanged",
        "ReportPublished",
        "ConflictEscalated",
        "RunStatusChanged",
        "RunCompleted",
    ] == names_of(facts[len(run_of(a_started_run())) :])
    assert "on-call" == facts[-3].to  # type: ignore[attr-defined]


def test_what_is_still_open_expires_with_the_join() -> None:
    """SHAPE: no delegation stays open; one that never answered ends as expired."""
    facts = judged({"logs": {}, "metrics": {}})
    ended = [fact for fact in facts if isinstance(fact, DelegationCompleted)]

    assert [("changes", "expired")] == [
        (e.specialist, e.status) for e in ended if e.status != "completed"
    ]
    report = completion_of(facts).report
    assert report is not None
    assert "changes: DELEGATION_TIMEOUT" in report.missing


def test_a_join_that_closed_again_completes_nothing() -> None:
    """LATE-08, S1-e: one completion, whatever is delivered twice."""
    facts = judged({step: {} for step in STEPS})
    closed = a(JoinClosed)

    assert [] == given(supervisor, *facts)(Consolidate(closed))


FOUND_NOTHING = {"status": "no_data", "claims": [], "evidence": []}
WHOLE = {"status": "completed", "missing_evidence": []}
ENDS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = {
    "COMPLETE": (
        {"logs": {}, "metrics": WHOLE, "changes": FOUND_NOTHING},
        {},
        ("completed", "completed", "success"),
    ),
    "PARTIAL_EVIDENCE": (
        {step: {} for step in STEPS},
        {},
        ("completed", "partial", "partial"),
    ),
    "INSUFFICIENT_EVIDENCE": (
        {"logs": {}, "metrics": None, "changes": {}},
        {},
        ("completed", "blocked", "waiting"),
    ),
    "CONFLICT_REQUIRES_HUMAN": (
        {"logs": {}, "metrics": WHOLE, "changes": {}},
        {"join": {"conflict_policy": "block_and_escalate"}},
        ("needs_human", "blocked", "waiting"),
    ),
}


@pytest.mark.parametrize("outcome", ENDS)
def test_each_outcome_ends_the_run_in_its_way(outcome: str) -> None:
    """RES-04, JOIN-03, decisions 2: status, result status and termination by outcome."""
    answers, playbook, ends = ENDS[outcome]
    completed = completion_of(judged(answers, **playbook))

    assert outcome == completed.outcome
    assert ends == (
        completed.status,
        completed.result_status,
        completed.termination_reason,
    )
    assert "none" == completed.side_effect


def test_insufficient_evidence_never_names_a_root_cause() -> None:
    """USER-09: what is not proven is not concluded."""
    report = completion_of(judged({"logs": {}, "metrics": None, "changes": {}})).report

    assert report is not None
    assert "inconclusive" == report.verdict
    assert ("impact unproven",) == report.impact


def test_only_accepted_results_speak_in_the_report() -> None:
    """JOIN-07, JOIN-24: a rejected result leaves no claim, only a gap."""
    report = completion_of(judged({"logs": {"agent_id": "x@1"}, "metrics": {}})).report

    assert report is not None
    assert ("claim-metric-01",) == report.claim_ids
    assert "logs: SPECIALIST_MISMATCH" in report.missing


def test_a_late_result_revises_the_report() -> None:
    """LATE-03, LATE-09: revision 2 says what came late; revision 1 stays as it was."""
    answers: dict[str, Any] = {"logs": {}, "metrics": None, "changes": {}}
    before, after = judged(answers), judged(answers, "metrics")

    assert before == after[: len(before)]
    [revised] = after[len(before) :]
    assert isinstance(revised, ReportRevised)
    assert 2 == revised.report.revision
    assert ("metrics: came after the join closed, policy append_new_revision",) == (
        revised.report.late
    )
    assert "claim-metric-01" in revised.report.claim_ids
    assert "late result of metrics" == revised.because


def test_a_revision_is_no_surer_than_its_evidence() -> None:
    """USER-09: while a required type is missing, no revision and no summary names the cause."""
    facts = judged({"changes": {}, "logs": None, "metrics": None}, "logs")
    [revised] = [fact for fact in facts if isinstance(fact, ReportRevised)]

    assert "inconclusive" == revised.report.verdict
    assert ["payment-api"] == [cause.service for cause in revised.report.causes]
    assert revised.report.summary.startswith("The evidence does not single out a cause")


def test_a_revision_still_names_who_depends_on_whom() -> None:
    """S1-h: results on the same bytes stay dependent in every revision."""
    same = {"digest": "0" * 64}
    logs = [a_piece("ev-log-41", "log_aggregate", "causal_signal", **same)]
    logs.append(a_piece("ev-trace-09", "trace_aggregate", "causal_signal"))
    changes = [a_piece("ev-change-12", "change_record", "causal_signal", **same)]
    answers = {
        "logs": {"evidence": logs},
        "changes": {"evidence": changes},
        "metrics": None,
    }
    [revised] = [f for f in judged(answers, "metrics") if isinstance(f, ReportRevised)]

    assert (("logs", "changes"),) == revised.report.dependent


def test_a_second_late_result_keeps_the_first() -> None:
    """LATE-03: revision 3 holds what revision 2 held."""
    facts = judged({"metrics": {}, "logs": None, "changes": None}, "logs", "changes")
    second, third = (fact for fact in facts if isinstance(fact, ReportRevised))

    assert set(second.report.claim_ids) < set(third.report.claim_ids)
    assert 2 == len(third.report.late)


def test_a_late_result_before_the_end_revises_nothing() -> None:
    """There is no report to revise before the run has completed."""
    facts = run_of(a_started_run())
    late = a(ResultLate, task_id=task_of(plan_in(facts), "logs"), merge=True)

    assert [] == given(supervisor, *facts)(Revise(late))


def test_judging_needs_a_run_and_revising_a_report() -> None:
    """A judgement without its run would be an invention."""
    with pytest.raises(ValueError, match="started"):
        consolidation.judge(RunState(), a(JoinClosed))
    with pytest.raises(ValueError, match="report"):
        consolidation.revise(RunState(), a(ResultLate))


def test_a_run_without_a_plan_lacks_no_evidence_type() -> None:
    """Without a contract there is no required type."""
    facts = judged({"logs": {}, "metrics": None, "changes": {}})
    state = replace(state_of(supervisor, *facts), plan=None)
    plan = plan_in(facts)
    late = next(
        fact
        for fact in joined(plan, {"logs": {}, "metrics": None, "changes": {}}, "metrics")
        if isinstance(fact, ResultLate)
    )

    assert 2 == consolidation.revise(state, late).revision


REACTIONS: list[tuple[Payload, type[Command] | None]] = [
    (a(IntakeAccepted), StartRun),
    (a(ResultAccepted), EndTask),
    (a(ResultRejected), EndTask),
    (a(DelegationRejected), EndTask),
    (a(JoinClosed), Consolidate),
    (a(ResultLate, merge=True), Revise),
    (a(ResultLate, merge=False), None),
    (a(CaseOpened), None),
]


@pytest.mark.parametrize(("fact", "command"), REACTIONS)
def test_facts_of_others_become_commands(
    fact: Payload, command: type[Command] | None
) -> None:
    """The supervisor reads cases, verdicts and refusals, and nothing else."""
    [(envelope, payload)] = history([fact])
    intents = react(Message(envelope, payload, "events", 0, 0, b""))

    assert ([command] if command else []) == [type(intent.command) for intent in intents]
    assert all((f"run/{RUN}", RUN) == (each.stream, each.key) for each in intents)


def test_a_fact_without_a_run_is_passed_over() -> None:
    """Nothing outside a run moves one."""
    [(envelope, payload)] = history([a(JoinClosed)])
    message = Message(replace(envelope, runid=None), payload, "events", 0, 0, b"")

    assert [] == list(react(message))


def test_a_published_report_is_the_one_in_the_completion() -> None:
    """USER-09: subscribers of the completion see the report of revision 1."""
    facts = judged({step: {} for step in STEPS})
    [published] = [fact for fact in facts if isinstance(fact, ReportPublished)]

    assert published.report == completion_of(facts).report
