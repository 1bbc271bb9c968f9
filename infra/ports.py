"""Ports of 127.0.0.1: which are free, and which answer."""

import asyncio
import contextlib
import secrets
import socket

# Below the range that outgoing connections are numbered from, so that a port stays ours.
_RANGE = range(15_000, 32_000)


def is_free(port: int) -> bool:
    """Return whether a server could listen on *port* of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections of a killed predecessor that linger do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return *count* different ports of 127.0.0.1 nobody listens on."""
    found: list[int] = []
    while len(found) < count:
        port = _RANGE[secrets.randbelow(len(_RANGE))]
        if port not in found and is_free(port):
            found.append(port)
    return found


async def answers(port: int) -> bool:
    """Return whether something accepts connections on *port* of 127.0.0.1."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
