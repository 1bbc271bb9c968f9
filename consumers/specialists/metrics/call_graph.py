"""Walks the call graph for the component that explains the trouble at the front; pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from consumers.specialists.metrics.answers import MetricSummary, ServiceTraffic

# An excess this many times the usual noise is no accident.
SURE = 3.0
MILD = 1.0
_SMALLEST_FAILURES = 1.0


@dataclass(frozen=True, slots=True)
class Excess:
    """What one service has too much of: failed requests, or seconds spent."""

    service: str
    amount: float
    surety: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Suspect:
    """A component that has its own share of the front's trouble."""

    service: str
    symptom: str
    share: float
    own: float
    excess: Excess
    is_leaf: bool


def suspects(summary: MetricSummary, fronts: Sequence[str]) -> list[Suspect]:
    """Return the components that explain what the *fronts* suffer from, best first."""
    measured = {
        "availability": _measured(summary, failures),
        "latency": _measured(summary, seconds),
    }
    # Failures first: they change how long requests take, in either direction. An alert has
    # already said that the front suffers, so in the end a mild excess will do.
    for least in (SURE, MILD):
        for symptom, found in measured.items():
            suffering = [found[name] for name in fronts if _suffers(found.get(name), least)]
            if suffering:
                worst = max(suffering, key=lambda each: each.amount)
                return _explaining(summary, symptom, found, worst)
    return []


def _suffers(excess: Excess | None, least: float) -> bool:
    return excess is not None and excess.surety >= least


def _measured(
    summary: MetricSummary, measure: Callable[[ServiceTraffic], Excess | None]
) -> dict[str, Excess]:
    found = (measure(traffic) for traffic in summary.traffic)
    return {each.service: each for each in found if each is not None}


def failures(traffic: ServiceTraffic) -> Excess | None:
    """Return how many requests failed beyond the usual rate."""
    was, now = traffic.before, traffic.after
    if was.failures is None or now.failures is None or not now.requests:
        return None
    rate = (was.failures + 0.5) / (was.requests + 1)
    amount = now.failures - rate * now.requests
    noise = sqrt(now.requests * rate * (1 - min(rate, 1.0)) + _SMALLEST_FAILURES)
    return Excess(
        service=traffic.service,
        amount=amount,
        surety=amount / noise,
        before=100 * (1 - was.failures / was.requests) if was.requests else 100.0,
        after=100 * (1 - now.failures / now.requests),
    )


def seconds(traffic: ServiceTraffic) -> Excess | None:
    """Return how much longer requests took in total than they usually do."""
    was, now = traffic.before, traffic.after
    if not was.seconds or not now.seconds or not was.requests or not now.requests:
        return None
    usual, current = was.seconds / was.requests, now.seconds / now.requests
    noise = 2 * traffic.latency_noise + 0.03 * usual
    return Excess(
        service=traffic.service,
        amount=(current - usual) * now.requests,
        surety=(current - usual) / noise,
        before=usual,
        after=current,
    )


def _explaining(
    summary: MetricSummary, symptom: str, found: dict[str, Excess], front: Excess
) -> list[Suspect]:
    component = _components(summary)
    worst = _worst_of_component(found.values(), component)
    callees = _callees(summary, component)
    result = [
        Suspect(
            service=_spokesman(name, summary, worst[name].service),
            symptom=symptom,
            share=min(1.0, worst[name].amount / front.amount),
            own=1 - _explained(worst[name], callees.get(name, frozenset()), worst),
            excess=worst[name],
            is_leaf=not callees.get(name),
        )
        for name in sorted(_reached(component(front.service), callees) & worst.keys())
        if worst[name].amount > 0 and worst[name].surety >= MILD
    ]
    return sorted(result, key=lambda each: (-each.share * each.own, each.service))


def _explained(
    excess: Excess, callees: frozenset[str], worst: Mapping[str, Excess]
) -> float:
    """Return how much of *excess* the worst of its *callees* accounts for."""
    below = [worst[callee].amount for callee in callees if callee in worst]
    return min(1.0, max([0.0, *below]) / excess.amount)


def _components(summary: MetricSummary) -> Callable[[str], str]:
    return lambda name: summary.component_of.get(name, name)


def _worst_of_component(
    found: Iterable[Excess], component: Callable[[str], str]
) -> dict[str, Excess]:
    worst: dict[str, Excess] = {}
    for each in found:
        name = component(each.service)
        if name not in worst or each.amount > worst[name].amount:
            worst[name] = each
    return worst


def _callees(
    summary: MetricSummary, component: Callable[[str], str]
) -> dict[str, frozenset[str]]:
    callees: dict[str, set[str]] = {}
    for caller, callee in summary.dependencies:
        if component(caller) != component(callee):
            callees.setdefault(component(caller), set()).add(component(callee))
    return {name: frozenset(others) for name, others in callees.items()}


def _reached(start: str, callees: dict[str, frozenset[str]]) -> set[str]:
    reached, todo = {start}, [start]
    while todo:
        fresh = callees.get(todo.pop(), frozenset()) - reached
        reached |= fresh
        todo += sorted(fresh)
    return reached


def _spokesman(name: str, summary: MetricSummary, worst: str) -> str:
    """Return the node that stands for component *name*: the one that does the calling."""
    nodes = [node for node, owner in summary.component_of.items() if owner == name]
    calls = dict.fromkeys(nodes, 0)
    for caller, _ in summary.dependencies:
        if caller in calls:
            calls[caller] += 1
    return (
        max(sorted(calls), key=lambda node: calls[node]) if any(calls.values()) else worst
    )
