"""Get out: completions as they come, as any subscriber gets them."""

import asyncio
from typing import Annotated, Any

import typer

from caseops import output
from caseops.cli.options import AsJson, DataDir


def subscribe(
    data_dir: DataDir = None,
    *,
    group: Annotated[
        str | None, typer.Option(help="Consumer group; goes on where it stopped.")
    ] = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Also what was published before.")
    ] = False,
    count: Annotated[int, typer.Option(min=0, help="Stop after so many; 0: never.")] = 0,
    as_json: AsJson = False,
) -> int:
    """Print completion events and report revisions; with --json one document a line."""
    asyncio.run(_follow(data_dir, (group, from_beginning), count, as_json=as_json))
    return output.DONE


async def _follow(
    data_dir: DataDir, where: tuple[str | None, bool], count: int, *, as_json: bool
) -> None:
    from contextlib import aclosing

    from caseops.addresses import addresses
    from event_schemas.codec import decode, structured
    from event_schemas.strict_json import Malformed
    from event_schemas.topics import COMPLETIONS, full_name
    from infra.kafka.tail import Tailing, tail

    at = addresses(data_dir)
    tailing = Tailing(at.kafka, full_name(at.prefix, COMPLETIONS.name), *where, count)
    async with aclosing(tail(tailing)) as records:
        async for record in records:
            try:
                event = structured(decode(record.headers, record.value))
            except Malformed as error:
                place = f"{record.partition}@{record.offset}"
                output.progress(f"{error.code}: {place}: {error.detail}")
                continue
            output.document(event) if as_json else output.text(_panel(event))


def _panel(event: dict[str, Any]) -> str:
    data = event["data"]
    report = data.get("report") or {}
    lines = [
        f"{event['time']}  {event['type'].removeprefix('dev.caseops.')}",
        f"  run {data['run_id']}: {data.get('status', 'revised')},"
        f" result {data.get('result_status', '-')}",
        f"  {report.get('status', 'no report')}",
    ]
    causes = [
        f"  {cause['service'] or 'unnamed'} {cause['type']} ({cause['score']:.2f})"
        for cause in report.get("causes", [])[:3]
    ]
    return "\n".join([*lines, *causes])
