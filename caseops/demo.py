"""Plays the payment incident on a stack of its own, and leaves nothing running.

The stack lives in `<data dir>/demo`, so that it never meets one that `caseops up` started.
Its data stays; each play raises new signals, and so opens a case and a run of its own.
"""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from caseops import output, stack
from caseops.addresses import Addresses, addresses
from caseops.case_folder import alerts_of
from caseops.demo_data.folder import write
from caseops.demo_data.incident import ENVIRONMENT, TENANT
from caseops.investigation import Patience, begin, ended, new_tag
from caseops.live_timeline import timeline
from caseops.run_page import page
from event_schemas.envelope import Envelope

Say = Callable[[str], None]
PATIENCE = Patience(to_appear=60.0, to_end=510.0)


async def play(
    data_dir: Path | None = None, *, as_json: bool = False, variant: str = "main"
) -> int:
    """Bring a stack up, play the incident, print the judgement, take the stack down.

    Returns the exit code: 0 when the run completed, 1 when it did not in time or on Ctrl-C.
    """
    home = addresses(data_dir).data_dir.resolve() / "demo"
    say: Say = output.progress if as_json else output.text
    began = monotonic()
    try:
        async with _running(home, say):
            say(f"up after {monotonic() - began:.1f} s")
            run = await _investigated(home, say, variant)
    except asyncio.CancelledError:
        return output.NO
    if as_json:
        output.document(run)
    else:
        _print(run)
        say(f"\nNothing is left running. All of it took {monotonic() - began:.1f} s.")
    return output.DONE


@asynccontextmanager
async def _running(home: Path, say: Say) -> AsyncIterator[None]:
    """Keep the stack of *home* up; it goes down however this ends, SIGTERM included."""
    this = asyncio.current_task()
    _at_signal(lambda: this and this.cancel())
    try:
        await stack.up(home, progress=say)
        yield
    finally:
        # A second Ctrl-C must not leave a broker behind.
        _at_signal(lambda: None)
        await stack.down(home, say)


def _at_signal(act: Callable[[], object]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, act)


async def _investigated(home: Path, say: Say, variant: str) -> dict[str, Any]:
    folder = write(home / "case", variant=variant)
    alerts = alerts_of(folder, tenant=TENANT, environment=ENVIRONMENT, tag=new_tag())
    at = addresses(home)
    say(f"case folder  {folder}")
    say(f"publishing {len(alerts)} alerts to {at.prefix}.alerts: {_kinds(alerts)}\n")
    watching = asyncio.ensure_future(_watch(at, alerts, say))
    try:
        run = await begin(at, alerts, PATIENCE)
        document = await ended(at, run, PATIENCE)
        await asyncio.wait({watching}, timeout=5.0)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    return document


async def _watch(at: Addresses, alerts: Sequence[Envelope], say: Say) -> None:
    async for line in timeline(at.kafka, at.prefix, alerts):
        say(line)


def _kinds(alerts: Sequence[Envelope]) -> str:
    return ", ".join(json.loads(alert.data)["signal_kind"] for alert in alerts)


def _print(run: dict[str, Any]) -> None:
    # The timeline has just been shown, line by line.
    output.text("\n" + page({**run, "timeline": []}))
    completion = run["completion"]
    told = {**completion["data"], "report": f"revision {run['report']['revision']}, above"}
    output.text("\nCompletion event, on caseops.completions for every subscriber:")
    output.text(json.dumps({**completion, "data": told}, indent=2, ensure_ascii=False))
