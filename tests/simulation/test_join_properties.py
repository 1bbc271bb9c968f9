"""Any results in any order, any number of times: one conclusion, one completion."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.decider import Message
from consumers.join_engine import decider as join
from consumers.join_engine.reactions import (
    CheckResult,
    CloseJoin,
    ExpireBranch,
    FailBranch,
    JoinCommand,
    OpenJoin,
)
from consumers.supervisor import decider as supervisor
from consumers.supervisor.reactions import react
from event_schemas.codec import decode, encode
from event_schemas.joins import JoinClosed
from event_schemas.payload import Payload
from event_schemas.registry import BY_PAYLOAD, read
from event_schemas.runs import RunCompleted
from tests.support.builders import (
    BEGAN,
    a_claim,
    a_piece,
    a_plan,
    a_started_run,
    a_submission,
    history,
    task_of,
)
from tests.support.given import state_of
from tests.support.orders import Run, drawn
from tests.support.s1 import System

STEPS = ("logs", "metrics", "changes")
KINDS = {"logs": "log_aggregate", "metrics": "metric_series", "changes": "change_record"}
DIGESTS = ("0" * 64, "1" * 64, "2" * 64, "3" * 64)
CONTRACTS = st.fixed_dictionaries(
    {
        "strategy": st.sampled_from(["timeout_partial", "all"]),
        "conflict_policy": st.sampled_from(["preserve_and_escalate", "block_and_escalate"]),
        "minimum_completion": st.fixed_dictionaries(
            {
                "count": st.integers(1, 3),
                "required_evidence_types": st.lists(
                    st.sampled_from(["impact_metric", "causal_signal"]), unique=True
                ),
            }
        ),
    }
)


@st.composite
def documents(draw: st.DrawFn, step: str) -> dict[str, Any]:
    """Draw the answer of one step: claims on evidence that others may share, or a failure."""
    status = draw(st.sampled_from(["completed", "partial", "no_data", "failed", "blocked"]))
    evidence = [
        a_piece(
            f"ev-{step}-{number}",
            KINDS[step],
            draw(st.sampled_from(["impact_metric", "causal_signal"])),
            digest=draw(st.sampled_from(DIGESTS)),
            quality=draw(st.sampled_from(["passed", "passed", "failed"])),
        )
        for number in range(draw(st.integers(1, 2)))
    ]
    claims = [
        a_claim(
            number,
            claim_id=f"claim-{step}-{number}",
            key=draw(st.sampled_from(["primary_cause", "onset", "impact"])),
            value=draw(st.sampled_from(["a", "b", 3])),
            evidence_refs=[draw(st.sampled_from(evidence))["evidence_id"]],
        )
        for number in range(draw(st.integers(0, 2)))
    ]
    answer = {"status": status, "evidence": evidence, "claims": claims}
    code = {"error_code": "SOURCE_AWAY"} if status == "failed" else {}
    return {**answer, **code, "missing_evidence": ["a gap"] if status == "partial" else []}


@st.composite
def stories(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a contract, and what each step does: it answers, refuses, or stays silent."""
    ways = {
        step: draw(st.sampled_from(["refused", "silent"]) | documents(step))
        for step in STEPS
    }
    return draw(CONTRACTS), ways


def command_of(plan: Any, step: str, way: Any) -> JoinCommand:
    """Return what the join is told about *step*."""
    if way == "refused":
        return FailBranch(task_of(plan, step), "TOKEN_INVALID")
    if way == "silent":
        return ExpireBranch(task_of(plan, step))
    return CheckResult(a_submission(plan, step, **way), "prod-cn", f"e-{step}")


def decided(commands: Sequence[JoinCommand], broken: str) -> list[Payload]:
    """Return the join's facts after *commands*; the bytes of one digest have changed."""
    seen = {digest: digest if digest != broken else "f" * 64 for digest in DIGESTS}
    state, facts = join.initial(), []
    for command in commands:
        for fact in join.decide(state, command, seen, BEGAN):
            state = join.evolve(state, fact)
            facts.append(fact)
    return facts


def completion(start: Sequence[Payload], facts: Sequence[Payload]) -> RunCompleted:
    """Return the completion of the run that *start* began and the join's *facts* ended."""
    own = [fact for fact in start if BY_PAYLOAD[type(fact)].stream == "run"]
    state = state_of(supervisor, *own)
    for envelope, fact in history(facts):
        for intent in react(Message(envelope, fact, "events", 0, 0, b"")):
            for made in supervisor.decide(state, intent.command, None, BEGAN):
                state = supervisor.evolve(state, made)
    assert isinstance(state.completed, RunCompleted)
    return state.completed


def told(data: st.DataObject, commands: Sequence[JoinCommand]) -> list[JoinCommand]:
    """Draw an order of *commands* in which each comes once or more."""
    if not commands:
        return []
    times = data.draw(st.lists(st.sampled_from(commands), max_size=3))
    return data.draw(st.permutations([*commands, *times]))


@settings(max_examples=120, deadline=None)
@given(story=stories(), data=st.data(), broken=st.sampled_from([*DIGESTS, ""]))
def test_the_conclusion_does_not_depend_on_the_order(
    story: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject, broken: str
) -> None:
    """JOIN-09, LATE-06: shuffled, repeated, before or after the plan: the same completion."""
    contract, ways = story
    start, plan = a_started_run(join=contract), a_plan(**contract)
    answers = [command_of(plan, step, way) for step, way in ways.items()]
    plain = decided([OpenJoin(plan), *answers], broken)
    results = [each for each in answers if isinstance(each, CheckResult)]
    early = [each for each in results if data.draw(st.booleans())]
    rest = [each for each in answers if each not in early]
    mixed = [*told(data, early), OpenJoin(plan), *told(data, rest)]
    shuffled = decided([*mixed, *data.draw(st.permutations(answers))], broken)

    [one] = [fact for fact in plain if isinstance(fact, JoinClosed)]
    [two] = [fact for fact in shuffled if isinstance(fact, JoinClosed)]
    assert one == two
    assert completion(start, plain) == completion(start, shuffled)


@settings(max_examples=60, deadline=None)
@given(story=stories(), cut=st.integers(0, 3))
def test_time_closes_a_join_once_whatever_came(
    story: tuple[dict[str, Any], dict[str, Any]], cut: int
) -> None:
    """JOIN-12: the due time ends the wait; what comes later changes no conclusion."""
    contract, ways = story
    plan = a_plan(**contract)
    answers = [command_of(plan, step, way) for step, way in ways.items()]
    commands = [OpenJoin(plan), *answers[:cut], CloseJoin("j"), *answers, CloseJoin("j")]
    facts = decided(commands, "")

    assert 1 == len([fact for fact in facts if isinstance(fact, JoinClosed)])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_every_event_of_a_run_survives_the_wire(seed: int) -> None:
    """EVT-01: what the store holds is what a subscriber reads, attribute by attribute."""
    system = System()
    Run(system).along(drawn(seed, 40))

    for envelope, payload in system.events():
        assert envelope == decode(*encode(envelope))
        assert payload == read(envelope)
        assert envelope.data == payload.model_dump_json().encode()
