"""Checks of an installation, each with what was found and what to do."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx2

from caseops.addresses import Addresses
from caseops.groups import READERS
from event_schemas.topics import all_topics, full_name
from infra.accounts import accounts
from infra.errors import CaseOpsError, Poison, Transient
from infra.kafka.offsets import Bounds, bounds
from infra.migrate import current, head
from infra.outbox import list_rows
from projections.case_view import queries

Ends = dict[str, dict[int, Bounds]]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at; *away*: it is a dependency that did not answer."""

    name: str
    ok: bool
    found: str
    hint: str = ""
    away: bool = False


async def examine(at: Addresses) -> list[Check]:
    """Return every check, in the order in which one would repair things."""
    ends: Ends = {}
    checks = [check async for check in _kafka(at, ends)]
    checks += [check async for check in _database(at, ends)]
    checks.append(await _services(at))
    return checks


async def _kafka(at: Addresses, ends: Ends) -> AsyncIterator[Check]:
    wanted = [full_name(at.prefix, topic.name) for topic in all_topics()]
    try:
        ends.update(await bounds(at.kafka, wanted))
    except CaseOpsError as error:
        yield Check("kafka", ok=False, found=error.message, hint=error.hint, away=True)
        return
    yield Check("kafka", ok=True, found=f"answers at {at.kafka}")
    missing = sorted(set(wanted) - set(ends))
    found = f"missing: {', '.join(missing)}" if missing else f"{len(ends)} topics"
    yield Check("topics", ok=not missing, found=found, hint="`caseops up` creates them.")


async def _database(at: Addresses, ends: Ends) -> AsyncIterator[Check]:
    try:
        async with at.connection() as reader:
            yield Check("postgresql", ok=True, found="answers")
            version, newest = await current(reader), head()
            yield Check(
                "schema",
                ok=version == newest,
                found=f"revision {version}, newest {newest}",
                hint="`caseops up` migrates.",
            )
            counted = await accounts(reader)
            waiting = sum(
                max(0, end - counted[name, topic].positions.get(number, 0))
                for topic, partitions in ends.items()
                for name in READERS.get(topic.removeprefix(f"{at.prefix}."), ())
                if (name, topic) in counted
                for number, (_, end) in partitions.items()
            )
            yield Check("lag", ok=True, found=f"{waiting} records wait for consumers")
            parked = [row for row in await list_rows(reader) if row["parked_at"]]
            yield _none("outbox", len(parked), "rows parked", "`caseops outbox list`")
            letters = sum(account.letters for account in counted.values())
            yield Check("dead letters", ok=True, found=f"{letters} parked records")
            held = await queries.held_keys(reader)
            why = f": {held[0]['held']}" if held else ""
            yield _none("views", len(held), f"held keys{why}", "Repair, then it goes on.")
    except (CaseOpsError, Transient, Poison) as error:
        hint = getattr(error, "hint", "")
        yield Check("postgresql", ok=False, found=str(error), hint=hint, away=True)


async def _services(at: Addresses) -> Check:
    url = at.listing.get("http_url")
    if not url:
        return Check("services", ok=True, found="not started by `caseops up` here")
    try:
        async with httpx2.AsyncClient(timeout=2.0) as client:
            answer = await client.get(f"{url}/health/ready")
    except httpx2.HTTPError as error:
        found = f"{url} does not answer: {type(error).__name__}"
        return Check("services", ok=False, found=found, hint="`caseops up`", away=True)
    return Check("services", ok=answer.is_success, found=answer.text.strip())


def _none(name: str, count: int, what: str, hint: str) -> Check:
    return Check(name, ok=count == 0, found=f"{count} {what}", hint=hint)
