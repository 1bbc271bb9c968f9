"""Wait for what is away: tried again until it works, or until nobody wants it any more."""

import asyncio
from collections.abc import Awaitable, Callable

PAUSE = 1.0

Act = Callable[[], Awaitable[None]]


async def patiently(
    act: Act,
    away: tuple[type[Exception], ...],
    *,
    told: Callable[[str], None],
    given_up: Callable[[], bool],
) -> None:
    """Do *act*; after one of *away* tell its name and try again, unless *given_up*."""
    while not given_up():
        try:
            await act()
        except away as error:
            told(type(error).__name__)
            await asyncio.sleep(PAUSE)
        else:
            return
