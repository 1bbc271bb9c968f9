"""What the join engine looks up: the hash of the bytes behind each piece of evidence."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from consumers.decider import Intent
from consumers.join_engine.reactions import CheckResult

HASH = re.compile(r"[0-9a-f]{64}")
DigestOf = Callable[[Sequence[str]], Awaitable[Mapping[str, str | None]]]


def observer(
    digest_of: DigestOf,
) -> Callable[[Sequence[Intent]], Awaitable[Sequence[Intent]]]:
    """Return how intents get their `observed`: content hash -> hash found, None if missing."""

    async def observe(intents: Sequence[Intent]) -> Sequence[Intent]:
        wanted = {name for intent in intents for name in _hashes(intent)}
        if not wanted:
            return intents
        found = await digest_of(sorted(wanted))
        return [
            replace(intent, observed={name: found.get(name) for name in _hashes(intent)})
            for intent in intents
        ]

    return observe


def _hashes(intent: Intent) -> list[str]:
    if not isinstance(intent.command, CheckResult):
        return []
    result: Any = intent.command.submitted.result
    evidence = result.get("evidence") if isinstance(result, dict) else None
    listed = evidence if isinstance(evidence, list) else []
    found = [each.get("content_hash") for each in listed if isinstance(each, dict)]
    return sorted({n for n in found if isinstance(n, str) and HASH.fullmatch(n)})
