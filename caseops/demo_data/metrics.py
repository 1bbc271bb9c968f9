"""Minute metrics: traffic, success by region, latency at the door, hits of the risk rule. Pure."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from random import Random

from caseops.demo_data.incident import (
    CHANGED,
    DROPPED,
    END,
    EXHAUSTED,
    MINUTE,
    POOL,
    REGIONS,
    START,
    randomness,
    text,
)

HEADER = "timestamp,service,metric,value"
BEFORE, LOWEST = 99.6, 93.1
P95_BEFORE, P95_AFTER = 0.42, 3.8
_NOISE = (0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03)
_HALF = timedelta(seconds=30)
# How far each region falls, as a share of what the worst one loses.
_SHARE = {"cn-east": 1.0, "cn-north": 0.08, "cn-south": 0.05}
_TRAFFIC = {"cn-east": 0.5, "cn-north": 0.3, "cn-south": 0.2}
# The first bad minute is still half good; the second is the worst.
_DEPTH = (0.5, 1.0, 0.97, 0.95, 0.96, 0.93, 0.95, 0.94, 0.96)


def rows(seed: int) -> Iterator[str]:
    """Yield the rows of `metrics.csv`, samples at half past each minute."""
    random = randomness(seed, "metrics")
    yield HEADER
    at = START + _HALF
    while at < END:
        yield from (f"{text(at)},{series}" for series in _minute(random, at))
        at += MINUTE


def _minute(random: Random, at: datetime) -> Iterator[str]:
    bad = at >= DROPPED
    near = _near(random)
    by_region = {region: _success(random, at, region) for region in REGIONS}
    overall = sum(by_region[region] * _TRAFFIC[region] for region in REGIONS)
    p95 = P95_AFTER if bad else near(P95_BEFORE)
    yield f"edge-ingress,{_labelled('latency_p95_seconds', 'route', '/pay')},{p95}"
    yield f"payment-api,success_rate_percent,{overall:.2f}"
    for region in REGIONS:
        column = _labelled("success_rate_percent", "region", region)
        yield f"payment-api,{column},{by_region[region]}"
    yield f"payment-api,payments_confirmed_total,{near(2180 * overall / 100)}"
    yield f"payment-api,db_pool_active,{POOL if at >= EXHAUSTED else near(8.0)}"
    yield f"payment-api,cpu_used_percent,{near(38.0)}"
    yield f"risk-gateway,latency_p50_seconds,{near(0.017)}"
    yield f"risk-gateway,cpu_used_percent,{near(27.0)}"
    yield f"risk-gateway,risk_rule_hit_rate_percent,{near(31.0 if at >= CHANGED else 2.1)}"


def _labelled(metric: str, label: str, value: str) -> str:
    """Return a metric column with a label, quoted as CSV wants it."""
    return f'"{metric}{{{label}=""{value}""}}"'


def _success(random: Random, at: datetime, region: str) -> float:
    """Return the success rate of one region: 99.6 in good minutes, give or take a little."""
    usual = BEFORE + random.choice((-0.04, -0.02, 0.0, 0.0, 0.02, 0.04))
    if at < DROPPED:
        return round(usual, 2)
    depth = _DEPTH[min(int((at - DROPPED) / MINUTE), len(_DEPTH) - 1)]
    return round(BEFORE - (BEFORE - LOWEST) * depth * _SHARE[region], 2)


def _near(random: Random) -> Callable[[float], float]:
    return lambda value: round(value * random.choice(_NOISE), 4)
