"""What the join engine looks up before it decides: the bytes behind each piece of evidence."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from consumers.decider import Intent
from consumers.join_engine.observe import observer
from consumers.join_engine.reactions import CheckResult, CloseJoin
from event_schemas.results import ResultSubmitted
from tests.support.builders import RUN, a, a_plan, a_submission, all_intact


async def looked_up(
    *commands: Any, found: Mapping[str, str | None]
) -> tuple[list[Intent], list[Sequence[str]]]:
    """Return the intents of *commands* with what was seen, and what was asked for."""
    asked: list[Sequence[str]] = []

    async def digest_of(hashes: Sequence[str]) -> Mapping[str, str | None]:
        asked.append(hashes)
        return found

    intents = [Intent(each, "join/r", RUN, "t", RUN) for each in commands]
    return list(await observer(digest_of)(intents)), asked


def check(submitted: ResultSubmitted) -> CheckResult:
    """Return the command to check *submitted*."""
    return CheckResult(submitted, "t", "e")


async def test_all_hashes_are_looked_up_at_once() -> None:
    """EVI-06: one question per batch, sorted; each result gets its own answers."""
    plan = a_plan()
    logs, changes = a_submission(plan, "logs"), a_submission(plan, "changes")
    known = all_intact(changes)
    seen, asked = await looked_up(check(logs), CloseJoin("j"), check(changes), found=known)

    assert [sorted({**all_intact(logs), **known})] == asked
    assert dict.fromkeys(all_intact(logs)) == seen[0].observed
    assert ({}, known) == (seen[1].observed or {}, seen[2].observed)


async def test_nothing_is_asked_when_nothing_is_cited() -> None:
    """Time and refusals rest on no bytes."""
    seen, asked = await looked_up(CloseJoin("j"), found={})

    assert ([], None) == (asked, seen[0].observed)


@pytest.mark.parametrize(
    "result",
    [
        "text",
        [1],
        {},
        {"evidence": None},
        {"evidence": 5},
        {"evidence": "ev"},
        {"evidence": {"a": 1}},
        {"evidence": [1, None, {}, {"content_hash": 7}, {"content_hash": "short"}]},
        {"evidence": [{"content_hash": "0" * 64 + "\n"}]},
    ],
)
async def test_a_broken_result_is_looked_at_without_failing(result: Any) -> None:
    """S1-f, RES-09: whatever was submitted, the join gets to reject it by its schema."""
    _, asked = await looked_up(check(a(ResultSubmitted, result=result)), found={})

    assert [] == asked
