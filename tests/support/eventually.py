"""Wait for something to become true, and say why it did not."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic


async def eventually(
    check: Callable[[], Awaitable[None]], *, seconds: float = 20.0
) -> None:
    """Return once *check* passes; after *seconds* fail with its last complaint."""
    until = monotonic() + seconds
    while True:
        try:
            await check()
        except AssertionError:
            if monotonic() > until:
                raise
            await asyncio.sleep(0.05)
        else:
            return
