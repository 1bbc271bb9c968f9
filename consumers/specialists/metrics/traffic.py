"""Requests, failures and time per service, from whatever series say so; pure."""

from collections.abc import Callable, Iterable
from statistics import median

from consumers.specialists.metrics.answers import ServiceTraffic, Traffic
from consumers.specialists.metrics.kinds import is_typical_latency, metric_kind
from consumers.specialists.onset import Split
from consumers.specialists.telemetry import Series

Values = dict[float, float]


def service_traffic(series: Iterable[Series], sides: Split) -> tuple[ServiceTraffic, ...]:
    """Return the traffic of every service that counts its requests."""
    by_service: dict[str, list[Series]] = {}
    for each in series:
        if not each.labels:
            by_service.setdefault(each.service, []).append(each)
    found = [_service(name, rows, sides) for name, rows in sorted(by_service.items())]
    return tuple(each for each in found if each is not None)


def _service(name: str, rows: list[Series], sides: Split) -> ServiceTraffic | None:
    requests = _first(rows, lambda metric: metric_kind(metric) == "traffic")
    if not requests:
        return None
    available = _first(rows, lambda metric: metric_kind(metric) == "availability")
    latency = _first(rows, is_typical_latency)
    until, since = sides.baseline_until.timestamp(), sides.abnormal_from.timestamp()
    before = {at: count for at, count in requests.items() if at < until}
    after = {at: count for at, count in requests.items() if at >= since}
    return ServiceTraffic(
        service=name,
        before=_traffic(before, available, latency),
        after=_traffic(after, available, latency),
        latency_noise=_noise([latency[at] for at in before if at in latency]),
    )


def _first(rows: list[Series], fits: Callable[[str], bool]) -> Values:
    names = sorted(
        (each for each in rows if fits(each.metric)), key=lambda each: each.metric
    )
    return {point.at: point.value for point in names[0].points} if names else {}


def _traffic(requests: Values, available: Values, latency: Values) -> Traffic:
    rated = [at for at in requests if at in available]
    timed = [at for at in requests if at in latency]
    failures = sum(requests[at] * (1 - available[at] / 100) for at in rated)
    seconds = sum(requests[at] * latency[at] for at in timed)
    return Traffic(
        samples=len(requests),
        requests=round(sum(requests.values()), 3),
        failures=round(failures, 3) if rated else None,
        seconds=round(seconds, 4) if timed else None,
    )


def _noise(values: list[float]) -> float:
    """Return the usual distance of a value from the middle (median absolute deviation)."""
    if not values:
        return 0.0
    middle = median(values)
    return round(median(abs(value - middle) for value in values), 6)
