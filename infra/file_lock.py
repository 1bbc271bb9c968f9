"""A lock between processes, held through a file; the kernel frees it when its owner dies."""

import asyncio
import fcntl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock at *path*; blocks until whoever has it lets go."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@asynccontextmanager
async def exclusively(path: Path) -> AsyncIterator[None]:
    """Hold the lock at *path* without blocking the event loop while waiting for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        while not _taken(file):  # noqa: ASYNC110 - the kernel sends no event
            await asyncio.sleep(0.05)
        yield


def _taken(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
