"""Look: conservation of records, and how far behind consumers are."""

import asyncio
from typing import Any

import typer

from caseops import output
from caseops.cli.options import AsJson, DataDir

audit = typer.Typer(help="Audits of what the system did.", no_args_is_help=True)


@audit.callback()
def _group() -> None:
    """Audits of what the system did."""


@audit.command("conservation")
def conservation(data_dir: DataDir = None, *, as_json: AsJson = False) -> int:
    """Check that every handled record is an effect, a dead letter or a counted skip.

    Exit code 1 when a record is unaccounted for. Records nobody handled yet are `waiting`.
    """
    from caseops.conservation import differs

    found = asyncio.run(_account(data_dir))
    if as_json:
        output.document(found)
    else:
        columns = (
            "records",
            "effects",
            "dead_letters",
            "skipped",
            "waiting",
            "unaccounted",
        )
        rows = [[topic, *(each[name] for name in columns)] for topic, each in found.items()]
        output.table("Conservation", ("topic", *columns), rows)
    return output.NO if differs(found) else output.DONE


def lag(data_dir: DataDir = None, *, as_json: AsJson = False) -> int:
    """Show how many records each consumer has still to handle."""
    rows = [
        {
            "consumer": name,
            "topic": topic,
            "handled": each["handled"],
            "waiting": each["waiting"],
        }
        for topic, account in asyncio.run(_account(data_dir)).items()
        for name, each in account["consumers"].items()
    ]
    if as_json:
        output.document(rows)
        return output.DONE
    columns = ("consumer", "topic", "handled", "waiting")
    output.table("Lag", columns, [[row[name] for name in columns] for row in rows])
    return output.DONE


async def _account(data_dir: DataDir) -> dict[str, Any]:
    from caseops.addresses import addresses
    from caseops.conservation import audit as audited
    from caseops.groups import READERS
    from event_schemas.topics import full_name
    from infra.accounts import accounts
    from infra.errors import NotFound
    from infra.kafka.offsets import bounds

    at = addresses(data_dir)
    async with at.connection() as reader:
        counted = await accounts(reader)
    # The ends are read last: what a consumer has handled is never beyond them.
    ends = await bounds(at.kafka, [full_name(at.prefix, short) for short in READERS])
    if not ends:
        raise NotFound(
            "NO_TOPICS", f"no topic of {at.prefix} on {at.kafka}", "`caseops up`"
        )
    return audited(at.prefix, READERS, ends, counted)
