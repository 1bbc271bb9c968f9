"""Old payload versions to current ones; readers of the log see the current shape only."""

from collections.abc import Callable, Mapping
from typing import Any

Upcast = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: Mapping[str, tuple[str, Upcast]] = {}
"""Old wire name -> (the next wire name, how its data becomes the next data)."""


def upcast(
    name: str, data: dict[str, Any], upcasters: Mapping[str, tuple[str, Upcast]] = UPCASTERS
) -> tuple[str, dict[str, Any]]:
    """Return the current wire name and data of an event written as *name*."""
    while name in upcasters:
        name, step = upcasters[name]
        data = step(data)
    return name, data
