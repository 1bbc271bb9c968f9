"""Processes are known by id and start, so that a reused id is never stopped."""

import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from infra import processes

FOREVER = (sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()")
STUBBORN = (
    sys.executable,
    "-c",
    "import signal; signal.signal(15, signal.SIG_IGN)\nwhile True: signal.pause()",
)


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[processes.Process]:
    """Give a process that does nothing until it is stopped."""
    process = processes.start(FOREVER, log=tmp_path / "log")
    yield process
    processes.send(process, signal.SIGKILL)


def alive(process: processes.Process) -> bool:
    """Return whether *process* runs."""
    return processes.is_alive(process.pid, process.started_at)


async def test_stop_leaves_nothing(sleeper: processes.Process) -> None:
    """A stopped process is gone and reaped, not a zombie."""
    obeyed = await processes.stop(sleeper)

    assert (True, False) == (obeyed, Path(f"/proc/{sleeper.pid}").exists())


async def test_who_ignores_the_request_is_killed(tmp_path: Path) -> None:
    """After the grace a process that ignores SIGTERM is killed."""
    process = processes.start(STUBBORN, log=tmp_path / "log")

    await processes.stop(process, grace=0.2)

    assert not alive(process)


async def test_a_reused_id_is_left_alone(sleeper: processes.Process) -> None:
    """A process with the id of ours, started at another time, is somebody else's."""
    stale = replace(sleeper, started_at="another time")

    await processes.stop(stale)

    assert (False, True) == (alive(stale), alive(sleeper))


def test_a_process_can_be_saved(tmp_path: Path) -> None:
    """Another process finds out later whether what was saved still runs."""
    processes.this_process().save(tmp_path / "process.json")

    found = processes.load(tmp_path / "process.json")

    assert found == processes.this_process()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x", "started_at": ""}'])
def test_what_cannot_be_read_is_nobody(tmp_path: Path, text: str) -> None:
    """A file that was cut short by a crash is no process."""
    (tmp_path / "process.json").write_text(text)

    assert processes.load(tmp_path / "process.json") is None


async def test_a_long_log_is_put_aside(tmp_path: Path) -> None:
    """A log does not grow for ever: it starts anew above its limit."""
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(9 * 1024 * 1024)

    await processes.stop(processes.start((sys.executable, "-c", ""), log=log))

    assert (0, True) == (log.stat().st_size, (tmp_path / "log.1").exists())
