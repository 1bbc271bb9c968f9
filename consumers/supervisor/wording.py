"""How a judgement reads: status, impact, summary, advice. Pure (USER-09, RISK-06)."""

from collections.abc import Sequence

from consumers.supervisor.state import RunState
from event_schemas.delegations import DelegationCompleted
from event_schemas.joins import Conflict
from event_schemas.results import Claim
from event_schemas.runs import Cause

SHOWN = 3
NO_ROLLBACK = "no automatic rollback"
CHANGES_NEED_PEOPLE = "any change goes to R3 two-person approval"


def status_text(state: RunState, lacking: Sequence[str]) -> str:
    """Return how far the assessment got, for example `stage assessment (2/3 complete, …)`."""
    words, whole = [], 0
    for task, created in state.tasks.items():
        name = short(created.delegation.specialist_id, state)
        end = state.ended.get(task)
        if end is not None and end.result_status in {"completed", "no_data"}:
            whole += 1
        else:
            words.append(f"{name} {end.result_status if end else 'missing'}")
    count = f"{whole}/{len(state.tasks)} complete"
    if lacking:
        return f"insufficient evidence ({', '.join([count, *words])})"
    if words:
        return f"stage assessment ({', '.join([count, *words])})"
    return f"complete assessment ({count})"


def short(specialist: str, state: RunState) -> str:
    """Return the everyday name of a specialist: the first word of its agent id."""
    steps = state.started.observed.content["steps"] if state.started else []
    agents = {step["specialist"]: step["agent_id"] for step in steps}
    return str(agents.get(specialist, specialist)).split("-")[0].split("@")[0]


def impact(claims: Sequence[Claim]) -> tuple[str, ...]:
    """Return what is proven about the impact, or that nothing is."""
    said = tuple(claim.statement for claim in claims if claim.key == "impact")
    return said or ("impact unproven",)


def summary(
    causes: Sequence[Cause], verdict: str, ended: Sequence[DelegationCompleted]
) -> str:
    """Return the judgement in a few sentences."""
    heads = {
        "root_cause": "Strongest candidate: ",
        "inconclusive": "The evidence does not single out a cause; candidates: ",
        "no_fault": "No fault shown by the evidence; weak candidates: ",
    }
    named = "; ".join(
        f"{c.service or 'unnamed'} {c.type} ({c.why})" for c in causes[:SHOWN]
    )
    said = " ".join(f"[{each.specialist}] {each.summary}" for each in ended if each.summary)
    return f"{heads[verdict]}{named or 'none'}. {said}"[:20000]


def advice(
    conflicts: Sequence[Conflict],
    lacking: Sequence[str],
    ended: Sequence[DelegationCompleted],
) -> tuple[str, ...]:
    """Return what to do next; nothing here is executed by itself (RISK-05)."""
    lines = [_settle(conflict) for conflict in conflicts]
    lines += [f"request evidence: {kind}" for kind in lacking]
    lines += [f"obtain {gap}" for each in ended for gap in each.missing_evidence]
    return (*lines, NO_ROLLBACK, CHANGES_NEED_PEOPLE)


def _settle(conflict: Conflict) -> str:
    subjects = list(dict.fromkeys(c.subject for c in conflict.claims if c.subject))
    values = " or ".join(str(claim.value) for claim in conflict.claims)
    if len(subjects) > 1:
        path = "→".join(sorted(subjects, reverse=True))
        return (
            f"query the {path} dependency trace: {conflict.topic} is unresolved ({values})"
        )
    return f"{conflict.next_query}: {conflict.topic} is unresolved ({values})"
