"""Stops the local stack in a folder when the test run that owns it is gone, however it went.

Every process that was saved in the folder is stopped, PostgreSQL last.
"""

import asyncio
import shutil
import sys
from pathlib import Path

from infra import processes
from infra.postgres.server import PostgresServer


async def _stop_all(folder: Path) -> None:
    servers = [file.parent for file in folder.rglob("server.json")]
    files = [file for file in folder.rglob("*.json") if file.parent not in servers]
    found = [processes.load(file) for file in files]
    await asyncio.gather(*(processes.stop(process) for process in found if process))
    for server in servers:
        await PostgresServer(server).stop()


if __name__ == "__main__":
    # The test run holds the other end and never writes: this ends when the run does.
    sys.stdin.buffer.read()
    asyncio.run(_stop_all(Path(sys.argv[1])))
    shutil.rmtree(sys.argv[1], ignore_errors=True)
