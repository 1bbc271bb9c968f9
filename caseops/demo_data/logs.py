"""Log lines of three services: the usual traffic, then a pool that runs dry. Pure.

Lines carry the trace they belong to and no span: these services log without one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from caseops.demo_data.incident import (
    CHANGED,
    DROPPED,
    END,
    EXHAUSTED,
    MINUTE,
    POOL,
    REFERENCE,
    SHARDS,
    START,
    hexadecimal,
    randomness,
    text,
)

Line = dict[str, Any]
_BETWEEN_PAYMENTS = 1.1
_FAILING, _HITTING = 0.35, 0.3
_USUALLY_HITTING = 0.02


@dataclass(frozen=True, slots=True)
class _Payment:
    at: datetime
    number: int
    pod: int
    trace: str

    def line(self, service: str, level: str, logger: str, message: str, ms: float) -> Line:
        """Return one line of this payment, *ms* after it began."""
        at = self.at + timedelta(milliseconds=ms)
        return _line(at, (service, self.pod, level, logger), message, self.trace)


def window(seed: int) -> list[Line]:
    """Return the lines of the window, in time order."""
    lines = [*_payments(seed, START, END), *_exhaustion(seed), *_housekeeping(seed)]
    return _ordered(line for line in lines if line["ts"] <= text(END))


def reference(seed: int) -> list[Line]:
    """Return the lines of one fault-free minute before the window, in time order."""
    return _ordered(_payments(seed, REFERENCE, REFERENCE + MINUTE))


def _ordered(lines: Iterator[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line["ts"], line["service"], line["msg"]))


def _payments(seed: int, start: datetime, end: datetime) -> Iterator[Line]:
    random = randomness(seed, f"payments/{text(start)}")
    at, number = start, 0
    while (at := at + timedelta(seconds=random.uniform(0.2, 2 * _BETWEEN_PAYMENTS))) < end:
        number += 1
        payment = _Payment(at, number, random.randrange(3), hexadecimal(random, 32))
        yield from _payment(random, payment)


def _payment(random: Random, payment: _Payment) -> Iterator[Line]:
    order = f"ord-{hexadecimal(random, 12)}"
    failed = payment.at >= DROPPED and random.random() < _FAILING
    ms = random.uniform(60, 400)
    say = payment.line
    yield say("edge-ingress", "INFO", "access", f"POST /pay accepted for {order}", 0)
    yield say("payment-api", "INFO", "PaymentController", f"payment_confirm {order}", 4)
    yield _score(random, payment, order)
    if failed:
        yield say(
            "payment-api",
            "ERROR",
            "PaymentController",
            f"payment_confirm timeout: {order} not confirmed within 3000 ms",
            3012,
        )
        yield say("edge-ingress", "WARN", "access", f"POST /pay 504 for {order}", 3020)
        return
    yield say("payment-api", "INFO", "PaymentStore", f"{order} stored in {ms:.0f} ms", ms)
    yield say("edge-ingress", "INFO", "access", f"POST /pay 200 for {order}", ms + 6)


def _score(random: Random, payment: _Payment, order: str) -> Line:
    often = _HITTING if payment.at >= CHANGED else _USUALLY_HITTING
    if random.random() < often:
        message = f"rule velocity-limit hit for {order}, passed on for review"
        return payment.line("risk-gateway", "WARN", "RuleEngine", message, 21)
    score = random.uniform(0.01, 0.4)
    message = f"scored {order}: {score:.3f}, no rule hit"
    return payment.line("risk-gateway", "INFO", "RuleEngine", message, 21)


def _exhaustion(seed: int) -> Iterator[Line]:
    random = randomness(seed, "exhaustion")
    at, pod, waiting = EXHAUSTED, 0, 3
    while at < END:
        yield _line(
            at,
            ("payment-api", pod, "ERROR", "HikariPool"),
            "HikariPool-1 - Connection is not available, request timed out after 3000ms"
            f" (total={POOL}, active={POOL}, idle=0, waiting={waiting})",
        )
        at += timedelta(seconds=random.uniform(1.5, 6))
        pod, waiting = random.randrange(3), min(60, waiting + random.randrange(4))


def _housekeeping(seed: int) -> Iterator[Line]:
    random = randomness(seed, "housekeeping")
    at = START
    while at < END:
        dry = at >= EXHAUSTED
        active = POOL if dry else random.randrange(4, 13)
        for pod in range(3):
            yield _line(
                at + timedelta(milliseconds=random.randrange(900)),
                ("payment-api", pod, "INFO", "HikariPool"),
                f"HikariPool-1 - stats total={POOL} active={active} idle={POOL - active}",
            )
        at += timedelta(seconds=30)


def _line(
    at: datetime, who: tuple[str, int, str, str], message: str, trace: str | None = None
) -> Line:
    service, pod, level, logger = who
    return {
        "ts": text(at),
        "service": service,
        "pod": f"{service}-{pod + 1}",
        "shard": SHARDS[pod],
        "level": level,
        "logger": logger,
        "trace_id": trace,
        "span_id": None,
        "msg": message,
    }
