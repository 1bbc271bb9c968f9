"""Calls between the services: minute aggregates and a sample of whole traces. Pure.

What grows is the wait for a database connection inside payment-api; the wire stays quick.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from caseops.demo_data.incident import (
    END,
    EXHAUSTED,
    MINUTE,
    REFERENCE,
    START,
    hexadecimal,
    randomness,
    text,
)

HEADER = "minute,phase,caller,callee,operation,spans,p50_ms,p95_ms,max_ms,client_gap_p50_ms"
_EDGES = (
    ("(entry)", "edge-ingress", "POST /pay", 118.0, True),
    ("edge-ingress", "payment-api", "POST /payments/confirm", 104.0, True),
    ("payment-api", "payment-api", "HikariPool.getConnection", 1.4, True),
    ("payment-api", "risk-gateway", "POST /score", 16.0, False),
)
_WAIT_MS = 3400.0
_SAMPLED_BEFORE, _SAMPLED = 12, 40


def edge_rows(seed: int) -> Iterator[str]:
    """Yield the rows of `trace_edges.csv`: one reference minute, then the window."""
    random = randomness(seed, "edges")
    yield HEADER
    yield from _minute(random, REFERENCE, "reference")
    at = START
    while at < END:
        yield from _minute(random, at, "window")
        at += MINUTE


def _minute(random: Random, at: datetime, phase: str) -> Iterator[str]:
    for caller, callee, operation, usual, waits in _EDGES:
        p50 = usual * random.uniform(0.95, 1.05)
        p95 = 3.4 * p50
        if waits and at + MINUTE > EXHAUSTED and phase == "window":
            p50, p95 = p50 + 190, p95 + _WAIT_MS
        gap = "" if caller in ("(entry)", callee) else f"{random.uniform(1.2, 2.4):.2f}"
        spans = random.randrange(1900, 2300)
        figures = f"{p50:.2f},{p95:.2f},{1.2 * p95:.2f},{gap}"
        yield f'{text(at)},{phase},{caller},{callee},"{operation}",{spans},{figures}'


def spans(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the spans of the sampled traces, reference ones first."""
    random = randomness(seed, "traces")
    for number in range(_SAMPLED_BEFORE):
        yield from _trace(random, REFERENCE + number * timedelta(seconds=5))
    step = (END - START) / _SAMPLED
    for number in range(_SAMPLED):
        yield from _trace(random, START + number * step)


def _trace(random: Random, at: datetime) -> Iterator[dict[str, Any]]:
    waited = random.uniform(900, _WAIT_MS) if at >= EXHAUSTED else random.uniform(0.6, 2.0)
    trace = hexadecimal(random, 32)
    ids = [hexadecimal(random, 16) for _ in range(4)]
    score = random.uniform(12, 20)
    inside = score + waited + random.uniform(40, 90)
    steps = (
        (ids[0], None, "edge-ingress", "POST /pay", 0.0, inside + 8),
        (ids[1], ids[0], "payment-api", "POST /payments/confirm", 3.0, inside),
        (ids[2], ids[1], "risk-gateway", "POST /score", 6.0, score),
        (ids[3], ids[1], "payment-api", "HikariPool.getConnection", 8 + score, waited),
    )
    for span, parent, service, operation, after, duration in steps:
        yield {
            "trace_id": trace,
            "span_id": span,
            "parent_id": parent,
            "service": service,
            "op": operation,
            "start": text(at + timedelta(milliseconds=after)),
            "duration_ms": round(duration, 3),
        }
