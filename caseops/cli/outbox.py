"""The outbox: rows that wait to be published, and what an operator can do about parked ones."""

import asyncio
from getpass import getuser
from typing import Annotated, Any

import typer

from caseops import output
from caseops.cli.options import AsJson, DataDir, Limit

outbox = typer.Typer(
    help="The outbox: what is still to be published.", no_args_is_help=True
)
Position = Annotated[
    int, typer.Argument(metavar="POSITION", help="As `outbox list` shows.")
]


@outbox.command("list")
def list_rows(
    data_dir: DataDir = None, *, limit: Limit = 1000, as_json: AsJson = False
) -> int:
    """List rows not yet published, parked ones first."""
    from caseops.addresses import addresses
    from infra import outbox as rows

    async def ask() -> list[dict[str, Any]]:
        async with addresses(data_dir).connection() as reader:
            return await rows.list_rows(reader, limit)

    found = asyncio.run(ask())
    if as_json:
        output.document(found)
        return output.DONE
    columns = ("position", "kind", "topic", "key", "attempts", "parked_at", "error")
    output.table("Outbox", columns, [[each[name] for name in columns] for each in found])
    return output.DONE


@outbox.command("retry")
def retry(position: Position, data_dir: DataDir = None, *, as_json: AsJson = False) -> int:
    """Let the relay try a parked row again."""
    return _act("retry", position, data_dir, as_json=as_json)


@outbox.command("skip")
def skip(position: Position, data_dir: DataDir = None, *, as_json: AsJson = False) -> int:
    """Drop a parked command, dead letter or artifact; a row of the log cannot be dropped."""
    return _act("skip", position, data_dir, as_json=as_json)


def _act(verb: str, position: int, data_dir: DataDir, *, as_json: bool) -> int:
    from caseops.addresses import addresses
    from infra import outbox as rows
    from infra.errors import NotFound

    act = rows.retry if verb == "retry" else rows.skip

    async def do() -> bool:
        async with addresses(data_dir).connection("outbox_relay") as connection:
            return await act(connection, position, getuser())

    if not asyncio.run(do()):
        hint = "`caseops outbox list` shows parked rows; a row of the log is never skipped."
        raise NotFound("NOT_PARKED", f"no row at {position} that one can {verb}", hint)
    if as_json:
        output.document({"position": position, "done": verb})
    return output.DONE
