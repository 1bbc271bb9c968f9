"""Wordings that name a kind of failure, whatever product writes them; pure."""

import re
from typing import NamedTuple


class FailureKind(NamedTuple):
    """A kind of failure."""

    category: str
    type: str


# Order matters: the first wording that fits decides.
_WORDINGS: tuple[tuple[str, FailureKind], ...] = (
    (
        r"all hosts?(\(s\))? tried|connection refused|no route to host|unknown host"
        r"|name or service not known|name resolution|no such host|could not resolve"
        r"|network is unreachable|ECONNREFUSED|ENOTFOUND|host is unreachable"
        r"|connect(ion)?( attempt)? timed out|dial tcp .*timeout",
        FailureKind("network", "dependency_unreachable"),
    ),
    (
        r"thread ?pool.{0,40}(exhaust|full|reject)|RejectedExecution",
        FailureKind("resource", "thread_pool_exhaustion"),
    ),
    (
        r"pool.{0,60}(exhaust|is full|timed? ?out|timeout|no (idle|free|available) conn)"
        r"|exhaust\w* .{0,30}(connection|pool)|too many (open )?(connections|clients)"
        r"|(timeout|timed out).{0,40}(acquir|obtain|wait|get)\w*.{0,20} connection"
        r"|(unable|failed|cannot|could not) to? ?(acquire|obtain|borrow) .{0,20}connection"
        r"|connection is not available.{0,40}timed out|remaining connection slots",
        FailureKind("resource", "connection_pool_exhaustion"),
    ),
    (
        r"out of memory|OutOfMemory|OOM ?Killed|cannot allocate memory|memory limit exceeded",
        FailureKind("resource", "container_oom_killed"),
    ),
    (
        r"no space left on device|disk (is )?full|quota exceeded",
        FailureKind("resource", "disk_full"),
    ),
    (
        r"too many open files|file descriptor limit",
        FailureKind("resource", "file_descriptor_exhaustion"),
    ),
    (
        r"env(ironment)?[ _]var(iable)?.{0,60}(undefined|not (set|defined|found)|missing|unset"
        r"|required|empty)|missing (required )?env|required env",
        FailureKind("config", "missing_environment_variable"),
    ),
    (
        r"certificate.{0,40}(expired|not yet valid|verify failed|unknown authority)|x509:",
        FailureKind("config", "certificate_invalid"),
    ),
    (
        r"(config\w*|secret|properties|settings?|\.ya?ml|\.json|\.toml|\.conf)\b.{0,60}"
        r"(not found|missing|does not exist|invalid|malformed|no such file)",
        FailureKind("config", "invalid_configuration"),
    ),
    (
        r"permission denied|access denied|not authori[sz]ed|forbidden"
        r"|authentication failed|invalid credentials|password authentication",
        FailureKind("config", "permission_denied"),
    ),
    (r"deadlock|lock wait timeout", FailureKind("dependency", "database_lock_contention")),
)
_COMPILED = tuple((re.compile(text, re.IGNORECASE), kind) for text, kind in _WORDINGS)
_SLOW = re.compile(
    r"\b(database|query|sql|stored procedure|db)\b.{0,60}?\b(in|took|after)\s+"
    r"(?P<n>\d+(?:\.\d+)?)\s*(?P<unit>ms|milliseconds?|s|sec|seconds?)\b",
    re.IGNORECASE,
)
_SLOW_SECONDS = 2.0


def failure_kind(message: str) -> FailureKind | None:
    """Return the kind of failure that *message* speaks of, None when it names none."""
    for pattern, kind in _COMPILED:
        if pattern.search(message):
            return kind
    slow = _SLOW.search(message)
    if slow and _seconds(slow["n"], slow["unit"]) >= _SLOW_SECONDS:
        return FailureKind("dependency", "slow_database_call")
    return None


def _seconds(number: str, unit: str) -> float:
    return float(number) / (1000 if unit.lower().startswith("m") else 1)
