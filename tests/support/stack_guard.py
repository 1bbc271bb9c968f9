"""Stops the local stack in a folder when the test run that owns it is gone, however it went.

Every process saved as `*process.json` in the folder is stopped; PostgreSQL last.
"""

import asyncio
import shutil
import sys
from pathlib import Path

from infra import processes
from infra.postgres.server import PostgresServer


async def _stop_all(folder: Path) -> None:
    files = list(folder.rglob("*process.json"))
    servers = [file.parent for file in files if (file.parent / "server.json").exists()]
    found = [processes.load(file) for file in files if file.parent not in servers]
    await asyncio.gather(*(processes.stop(process) for process in found if process))
    for server in servers:
        await PostgresServer(server).stop()


if __name__ == "__main__":
    # The test run holds the other end and never writes: this ends when the run does.
    sys.stdin.buffer.read()
    asyncio.run(_stop_all(Path(sys.argv[1])))
    shutil.rmtree(sys.argv[1], ignore_errors=True)
