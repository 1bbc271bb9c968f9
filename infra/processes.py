"""Operating system processes: started, inspected and stopped here, always by process id."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_LOG_LIMIT = 8 * 1024 * 1024
# Children of this process have to be reaped by it; everybody else is only looked at.
_children: set[int] = set()


@dataclass(frozen=True)
class Process:
    """A process id together with the mark of its start, so that a reused id is not ours."""

    pid: int
    started_at: str

    def save(self, path: Path) -> None:
        """Write the process to *path*, whole or not at all."""
        draft = path.with_name(f"{path.name}.{os.getpid()}.new")
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(path)


def load(path: Path) -> Process | None:
    """Return the process saved at *path*, or None when there is none that can be read."""
    try:
        fields = json.loads(path.read_text())
        return Process(int(fields["pid"]), str(fields["started_at"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def this_process() -> Process:
    """Return the process this code runs in."""
    return Process(os.getpid(), start_mark(os.getpid()) or "")


def start(
    command: Sequence[str | Path],
    *,
    log: Path,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    user: str | None = None,
) -> Process:
    """Start *command* in its own process group, both outputs appended to *log*.

    The child outlives this process and does not see the terminal's Ctrl-C. With *user* it
    runs as that user, which only root can ask for.
    """
    if log.exists() and log.stat().st_size > _LOG_LIMIT:
        log.replace(log.with_name(f"{log.name}.1"))
    with log.open("ab") as output:
        child = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=cwd,
            start_new_session=True,
            **_as_user(user),
        )
    _children.add(child.pid)
    # The handle ends here, the child lives on: that is meant, and nothing to warn about.
    child.returncode = 0
    return Process(child.pid, start_mark(child.pid) or "")


def run(
    command: Sequence[str | Path], *, user: str | None = None, seconds: float = 60.0
) -> tuple[int, str]:
    """Run *command* to its end; return its exit code and what it wrote."""
    done = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds,
        check=False,
        cwd="/",
        **_as_user(user),
    )
    return done.returncode, done.stdout.decode(errors="replace").strip()


def _as_user(user: str | None) -> dict[str, Any]:
    if user is None:
        return {}
    import pwd  # noqa: PLC0415 - absent on Windows, and only root needs it

    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def is_root() -> bool:
    """Return whether this process runs as root."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def start_mark(pid: int) -> str | None:
    """Return a mark of when *pid* started, or None when no such process runs.

    On Linux the mark is the boot's id and the start in clock ticks, which no change of the
    wall clock moves; elsewhere it is what `ps` says. A zombie does not run.
    """
    _reap(pid)
    if not Path("/proc/self/stat").exists():
        code, text = run(["ps", "-o", "lstart=", "-p", str(pid)])
        return text if code == 0 and text else None
    try:
        # The name in parentheses may hold blanks; the fields are counted after it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    return None if fields[0] in {"Z", "X"} else f"{boot}/{fields[19]}"


def _reap(pid: int) -> None:
    if pid in _children:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                return
        _children.discard(pid)


def is_alive(pid: int, started_at: str) -> bool:
    """Return whether the very process *pid* that started at *started_at* still runs."""
    return bool(started_at) and start_mark(pid) == started_at


def command_line(pid: int) -> str:
    """Return the command line of *pid*, or nothing when it cannot be seen."""
    if Path("/proc/self/stat").exists():
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        return ""
    return run(["ps", "-o", "command=", "-p", str(pid)])[1]


def send(process: Process, what: signal.Signals) -> None:
    """Send a signal to *process* unless it is gone or its id belongs to somebody else."""
    if is_alive(process.pid, process.started_at):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, what)


async def stop(
    process: Process,
    *,
    grace: float = 10.0,
    first: signal.Signals = signal.SIGTERM,
) -> bool:
    """Ask *process* to end, kill it after *grace* seconds; return whether it obeyed."""
    send(process, first)
    if await gone(process, seconds=grace):
        return True
    await kill(process)
    return False


async def kill(process: Process) -> None:
    """Kill *process* at once (SIGKILL) and wait until it is gone."""
    send(process, signal.SIGKILL)
    await gone(process, seconds=10.0)


async def gone(process: Process, *, seconds: float) -> bool:
    """Wait up to *seconds* for *process* to end; return whether it has."""
    until = time.monotonic() + seconds
    while is_alive(process.pid, process.started_at):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(0.02)
    return True
