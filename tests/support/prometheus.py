"""A real Prometheus for tests: our samples written as blocks, then served."""

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

REQUIRE = "CASEOPS_REQUIRE_PROMETHEUS"
NOT_RUN = "not run: prometheus is not installed"
_TRIES = 200


def is_installed() -> bool:
    """Return whether the server and its tool can be started here."""
    return bool(shutil.which("prometheus") and shutil.which("promtool"))


def is_required() -> bool:
    """Return whether a missing server is a failure rather than a skip."""
    return os.environ.get(REQUIRE) == "1"


@asynccontextmanager
async def serving(folder: Path, samples: Iterable[str]) -> AsyncIterator[str]:
    """Serve *samples* (OpenMetrics lines with times) and yield the server's address."""
    text = folder / "samples.txt"
    text.write_text("\n".join([*samples, "# EOF"]) + "\n")
    data = folder / "data"
    create = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
    made = await asyncio.create_subprocess_exec(*create, stdout=subprocess.DEVNULL)
    assert await made.wait() == 0
    (folder / "prometheus.yml").write_text("global: {}\n")
    address = f"127.0.0.1:{_free_port()}"
    server = await asyncio.create_subprocess_exec(
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={address}",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await _ready(server, f"http://{address}")
        yield f"http://{address}"
    finally:
        if server.returncode is None:
            server.terminate()
        await server.wait()


async def _ready(server: asyncio.subprocess.Process, url: str) -> None:
    reason = "not asked yet"
    async with httpx2.AsyncClient(base_url=url) as client:
        for _ in range(_TRIES):
            assert server.returncode is None, "prometheus ended at its start"
            try:
                answer = await client.get("/-/ready")
            except httpx2.TransportError as error:
                reason = repr(error)
            else:
                if answer.is_success:
                    return
                reason = answer.text
            await asyncio.sleep(0.05)
    raise AssertionError(f"prometheus is not ready: {reason}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
