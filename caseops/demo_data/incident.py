"""The facts of the payment incident that every file of the folder agrees on. Pure."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

TENANT, ENVIRONMENT = "prod-cn", "production"
START = datetime(2026, 7, 23, 1, 45, tzinfo=UTC)
REFERENCE = datetime(2026, 7, 23, 1, 30, tzinfo=UTC)
EXHAUSTED = datetime(2026, 7, 23, 2, 0, 48, tzinfo=UTC)
CHANGED = datetime(2026, 7, 23, 2, 1, 25, tzinfo=UTC)
DROPPED = datetime(2026, 7, 23, 2, 1, 30, tzinfo=UTC)
FIRED = datetime(2026, 7, 23, 2, 2, tzinfo=UTC)
END = datetime(2026, 7, 23, 2, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

SERVICES = ("edge-ingress", "payment-api", "risk-gateway")
DEPENDENCIES = (("edge-ingress", "payment-api"), ("payment-api", "risk-gateway"))
REGIONS = ("cn-east", "cn-north", "cn-south")
SHARDS = ("cn-east-1", "cn-east-2", "cn-east-3")
POOL = 20
SEED = 20260723


@dataclass(frozen=True, slots=True)
class Variant:
    """How a folder differs from the main sequence: what is limited, and whether a rule changed."""

    limits: dict[str, Any] = field(default_factory=dict)
    rule_changed: bool = True


VARIANTS = {
    "main": Variant(limits={"metrics": {"requests_before_429": 2}}),
    # S1-a: the metric source takes the question and never answers.
    "a": Variant(limits={"metrics": {"hang": True}}),
    # S1-c: every source answers, and no change is close to the drop.
    "c": Variant(rule_changed=False),
    # S1-n: one shard of the logs is down.
    "n": Variant(limits={"logs": {"unavailable_shards": ["cn-east-3"]}}),
}


def text(at: datetime) -> str:
    """Return *at* as the files write it."""
    return at.isoformat().replace("+00:00", "Z")


def randomness(seed: int, part: str) -> Random:
    """Return the random numbers of one *part*, so that one part does not disturb another."""
    return Random(f"{seed}/{part}")  # noqa: S311 - noise for made-up telemetry


def hexadecimal(random: Random, digits: int) -> str:
    """Return an id of that many hex *digits*."""
    return f"{random.getrandbits(4 * digits):0{digits}x}"
