"""Look: runs, one run, its events."""

import asyncio
from typing import Annotated, Any

import typer

from caseops import output
from caseops.cli.options import AsJson, DataDir, Limit, RunId


def runs(
    data_dir: DataDir = None,
    *,
    tenant: Annotated[str | None, typer.Option(help="Only runs of this tenant.")] = None,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> int:
    """List runs, latest first."""
    from caseops.addresses import addresses
    from projections.case_view import queries

    async def ask() -> list[dict[str, Any]]:
        async with addresses(data_dir).connection() as reader:
            return await queries.runs(reader, tenant=tenant, limit=limit)

    found = asyncio.run(ask())
    if as_json:
        output.document(found)
        return output.DONE
    columns = (
        "run_id",
        "tenant",
        "service",
        "stage",
        "result_status",
        "signals",
        "started_at",
    )
    output.table("Runs", columns, [[run[name] for name in columns] for run in found])
    return output.DONE


def show(run: RunId, data_dir: DataDir = None, *, as_json: AsJson = False) -> int:
    """Show a run: judgement, evidence, conflicts, gaps, advice, timeline."""
    from caseops.run_page import page
    from projections.case_view import queries

    found = _of_run(run, data_dir, queries.show)
    if as_json:
        output.document(found)
    else:
        output.text(page(found))
    return output.DONE


def events(run: RunId, data_dir: DataDir = None, *, as_json: AsJson = False) -> int:
    """Print the CloudEvents of a run in order."""
    from projections.case_view import queries

    found = _of_run(run, data_dir, queries.events)
    if as_json:
        output.document(found)
        return output.DONE
    for event in found:
        number, name = int(event["sequence"]), event["type"].removeprefix("dev.caseops.")
        output.text(f"{number:>5}  {event['time']}  {name:<28} {event['subject']}")
    return output.DONE


def _of_run(run: str, data_dir: DataDir, question: Any) -> Any:  # noqa: ANN401 - any answer
    from caseops.addresses import addresses
    from infra.errors import NotFound
    from projections.case_view import queries

    async def ask() -> Any:  # noqa: ANN401
        async with addresses(data_dir).connection() as reader:
            name = await queries.full_id(reader, run)
            return None if name is None else await question(reader, name)

    found = asyncio.run(ask())
    if found is None:
        raise NotFound("NO_SUCH_RUN", f"no run {run}", "`caseops runs` lists them.")
    return found
