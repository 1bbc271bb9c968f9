"""A relay in a process of its own, which can be made to die between send and delete.

`python -m tests.support.relay_process URL BOOTSTRAP PREFIX DELETES`: before its delete number
DELETES (0: never) the process kills itself with SIGKILL, its batch published and not deleted.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from infra.outbox import Outbox
from outbox_relay.app import Place, run
from outbox_relay.health import RelayHealth


@contextmanager
def relay_process(
    place: Place, *, dies_before_delete: int = 0
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a relay as a process for the block; kill what is left of it after."""
    arguments = [place.url, place.bootstrap, place.prefix, str(dies_before_delete)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.relay_process", *arguments],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _die_before(deletes: int) -> None:
    numbers = count(1)
    delete = Outbox.delete

    async def deadly(outbox: Outbox, positions: Iterable[int]) -> None:
        if next(numbers) == deletes:
            os.kill(os.getpid(), signal.SIGKILL)
        await delete(outbox, positions)

    Outbox.delete = deadly  # type: ignore[method-assign, assignment]


async def _main(url: str, bootstrap: str, prefix: str) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await run(Place(url, bootstrap, prefix), stop, RelayHealth())


if __name__ == "__main__":
    _die_before(int(sys.argv[4]))
    asyncio.run(_main(*sys.argv[1:4]))
