"""`caseops up` without --detach: the stack lives as long as this command."""

import asyncio
import signal
from dataclasses import asdict
from pathlib import Path

from caseops import output, stack
from caseops.addresses import addresses


async def keep_up(
    data_dir: Path | None, *, layout: str, nodes: int, detach: bool, as_json: bool
) -> int:
    """Start the stack, say where it listens, and stop it at SIGINT or SIGTERM."""
    folder = addresses(data_dir).data_dir
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    starting = asyncio.ensure_future(
        stack.up(folder, layout=layout, nodes=nodes, progress=output.progress)
    )
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if starting.done():
        await _down_if_failed(starting, folder)
        _say(starting.result(), folder, as_json=as_json, detach=detach)
        if detach:
            stopping.cancel()
            return output.DONE
        await stopping
    else:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
    await stack.down(folder, output.progress)
    return output.DONE


async def _down_if_failed(starting: "asyncio.Future[stack.Listing]", folder: Path) -> None:
    """Stop what did start, before the reason is told."""
    if starting.exception() is not None:
        await stack.down(folder, output.progress)


def _say(listing: stack.Listing, folder: Path, *, as_json: bool, detach: bool) -> None:
    if as_json:
        output.document(asdict(listing))
        return
    output.text(f"Kafka       {listing.kafka_bootstrap}")
    output.text(f"HTTP        {listing.http_url}")
    output.text(f"addresses   {folder / 'stack.json'}")
    ending = "`caseops down` stops it." if detach else "Ctrl-C stops it."
    output.text(f"CaseOps is up. {ending}")
