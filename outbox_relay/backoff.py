"""Waiting between attempts at something that is away."""

import asyncio
from random import SystemRandom

FIRST_SECONDS = 0.1
LONGEST_SECONDS = 5.0

_random = SystemRandom()


class Backoff:
    """Doubles from try to try, with jitter; never gives up."""

    def __init__(self) -> None:
        self._seconds = FIRST_SECONDS

    async def wait(self) -> None:
        """Wait before the next try."""
        await asyncio.sleep(self._seconds * _random.uniform(0.5, 1.0))
        self._seconds = min(LONGEST_SECONDS, self._seconds * 2)

    def reset(self) -> None:
        """Start from the shortest wait again, after something went well."""
        self._seconds = FIRST_SECONDS
