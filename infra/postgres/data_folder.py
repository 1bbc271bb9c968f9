"""The data folder of a local PostgreSQL: made by initdb, and who is still running in it."""

import shutil
from pathlib import Path

from infra import processes
from infra.errors import DependencyAway
from infra.postgres.lodging import Lodging
from infra.processes import Process


def initialise(lodging: Lodging, *, user: str, password: str) -> None:
    """Make the data folder `pgdata`, with one superuser; does nothing where there is one."""
    if (lodging.folder / "pgdata").exists():
        return
    # Made aside and renamed, so that an interrupted run leaves no half cluster.
    draft, secret = lodging.folder / "pgdata.new", lodging.folder / "initdb.secret"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    lodging.hand_over(draft, 0o700)
    _write_secret(secret, password)
    lodging.hand_over(secret, 0o600)
    # Texts are ordered by code point, so that no view depends on the machine's locale.
    order = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin")
    access = ("-U", user, "-A", "scram-sha-256", f"--pwfile={secret}")
    command = (lodging.binaries / "initdb", "-D", draft, *order, *access)
    code, said = processes.run((*command, "--builtin-locale=C.UTF-8"), user=lodging.user)
    secret.unlink()
    if code != 0:
        raise DependencyAway(
            "DATABASE_AWAY",
            "the local PostgreSQL cannot be made: initdb failed",
            said[-400:],
        )
    draft.rename(lodging.folder / "pgdata")


def _write_secret(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    file.touch(0o600)
    file.write_text(text)


def predecessor(pgdata: Path) -> Process | None:
    """Return the server that `postmaster.pid` names, when it runs on *pgdata*.

    When the id belongs to a process of somebody else, the file is removed: PostgreSQL would
    take that process for a running server and refuse to start.
    """
    lock = pgdata / "postmaster.pid"
    try:
        pid = int(lock.read_text().partition("\n")[0])
    except (FileNotFoundError, ValueError):
        return None
    mark = processes.start_mark(pid)
    if mark is None:
        return None
    if f" {pgdata} " in f"{processes.command_line(pid)} ":
        return Process(pid, mark)
    lock.unlink()
    return None
