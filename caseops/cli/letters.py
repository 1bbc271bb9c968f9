"""Dead letters: records that a consumer parked."""

import asyncio
from typing import Annotated, Any

import typer

from caseops import output
from caseops.cli.options import AsJson, DataDir, Limit

dlq = typer.Typer(help="Dead letters: what was parked, and why.", no_args_is_help=True)


@dlq.callback()
def _group() -> None:
    """Dead letters: what was parked, and why."""


@dlq.command("list")
def list_letters(
    data_dir: DataDir = None,
    *,
    consumer: Annotated[str | None, typer.Option(help="Only of this consumer.")] = None,
    limit: Limit = 1000,
    as_json: AsJson = False,
) -> int:
    """List parked records, latest first."""
    from caseops.addresses import addresses
    from infra import dead_letters

    async def ask() -> list[dict[str, Any]]:
        async with addresses(data_dir).connection() as reader:
            return await dead_letters.list_letters(reader, consumer=consumer, limit=limit)

    found = asyncio.run(ask())
    if as_json:
        output.document(found)
        return output.DONE
    columns = ("id", "reason", "detail", "attempts", "last_seen", "bytes")
    output.table(
        "Dead letters", columns, [[each[name] for name in columns] for each in found]
    )
    return output.DONE
