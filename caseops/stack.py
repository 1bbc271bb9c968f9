"""The local stack: real Apache Kafka, real PostgreSQL and the services, by process id.

Everything lives in one data folder and survives kill -9: the next `up` adopts or replaces
what is left. `stack.json` there says where everything listens.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from caseops import installation
from caseops.groups import ALL, GROUPS
from infra import processes
from infra.errors import DependencyAway
from infra.file_lock import exclusively
from infra.kafka.cluster import KafkaCluster
from infra.ports import free_ports
from infra.postgres.server import PostgresServer
from infra.settings import Settings, child_environment

READY_SECONDS = 60.0
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Listing:
    """Where a running stack listens; what `stack.json` holds."""

    kafka_bootstrap: str
    database_url: str
    http_url: str
    pids: dict[str, int]
    started_at: str


def parts(layout: str) -> dict[str, tuple[str, ...]]:
    """Return process name -> services for the layouts `groups`, `processes`, `single`."""
    if layout == "single":
        return {"all": ALL}
    return GROUPS if layout == "groups" else {name: (name,) for name in ALL}


def listing(data_dir: Path) -> Listing | None:
    """Return what `stack.json` in *data_dir* says, None when there is none."""
    try:
        return Listing(**json.loads((data_dir / "stack.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


async def up(
    data_dir: Path, *, layout: str = "groups", nodes: int = 1, progress: Progress = print
) -> Listing:
    """Start what does not run yet and return once every service is ready.

    Idempotent. Raises `DependencyAway` with the log to look at when a part does not start.
    """
    data_dir = data_dir.resolve()
    data_dir.mkdir(parents=True, exist_ok=True)
    async with exclusively(data_dir / "stack.lock"):
        await _stop_services(data_dir)
        kafka = KafkaCluster(data_dir / "kafka", nodes=nodes, on_progress=progress)
        postgres = PostgresServer(data_dir / "postgres", on_progress=progress)
        progress("starting Apache Kafka and PostgreSQL")
        await asyncio.gather(kafka.start(), postgres.start())
        await _apply(kafka.bootstrap, postgres.url, nodes)
        progress("starting the services")
        running = await _start_services(data_dir, kafka.bootstrap, postgres.url, layout)
        pids = {f"kafka-{at}": pid for at, pid in enumerate(kafka.pids, 1)}
        pids["postgres"] = postgres.pid or 0
        pids |= {name: process.pid for name, (process, _) in running.items()}
        result = Listing(
            kafka_bootstrap=kafka.bootstrap,
            database_url=postgres.url,
            http_url=next(iter(running.values()))[1],
            pids=pids,
            started_at=datetime.now(UTC).isoformat(),  # noqa: TID251 - for people
        )
        _write(data_dir / "stack.json", result)
    return result


async def _apply(bootstrap: str, url: str, nodes: int) -> None:
    settings = Settings()
    await installation.apply(
        bootstrap,
        url,
        settings.topic_prefix,
        replication=nodes,
        partitions=settings.partitions,
    )


async def down(data_dir: Path, progress: Progress = print) -> bool:
    """Stop everything that runs in *data_dir*, data kept; return whether anything did."""
    data_dir = data_dir.resolve()
    if not data_dir.exists():
        return False
    async with exclusively(data_dir / "stack.lock"):
        stopped = await _stop_services(data_dir)
        progress("stopping PostgreSQL and Apache Kafka")
        postgres = PostgresServer(data_dir / "postgres")
        found = stopped or postgres.pid is not None
        await postgres.stop()
        for nodes in (1, 3):
            kafka = KafkaCluster(data_dir / "kafka", nodes=nodes)
            found = found or bool(kafka.pids)
            await kafka.stop()
        (data_dir / "stack.json").unlink(missing_ok=True)
    return found


async def _start_services(
    data_dir: Path, bootstrap: str, url: str, layout: str
) -> dict[str, tuple[processes.Process, str]]:
    wanted = parts(layout)
    ports = free_ports(len(wanted))
    running = {}
    for (name, services), port in zip(wanted.items(), ports, strict=True):
        process = start_process(
            data_dir,
            name,
            services,
            kafka_bootstrap=bootstrap,
            database_url=url,
            http_port=str(port),
            instance="local",
        )
        running[name] = (process, f"http://127.0.0.1:{port}")
    await asyncio.gather(
        *(until_ready(data_dir, name, *each) for name, each in running.items())
    )
    return running


def start_process(
    data_dir: Path, name: str, services: tuple[str, ...], **settings: str
) -> processes.Process:
    """Start one process of *services* under *settings*, and save who it is."""
    folder = data_dir / "services"
    folder.mkdir(exist_ok=True)
    process = processes.start(
        [sys.executable, "-m", "caseops.serve", *services],
        log=folder / f"{name}.log",
        env=child_environment(data_dir=str(data_dir), local_mode="true", **settings),
    )
    process.save(folder / f"{name}.json")
    return process


async def until_ready(
    data_dir: Path, name: str, process: processes.Process, url: str
) -> None:
    """Return once the process at *url* is ready; raise `DependencyAway` when it ends first."""
    log = data_dir / "services" / f"{name}.log"
    async with httpx2.AsyncClient(timeout=2.0) as client:
        for _ in range(int(READY_SECONDS / 0.1)):
            if not processes.is_alive(process.pid, process.started_at):
                raise DependencyAway("SERVICE_ENDED", f"{name} ended", f"See {log}.")
            try:
                if (await client.get(f"{url}/health/ready")).is_success:
                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.1)
    raise DependencyAway("SERVICE_NOT_READY", f"{name} is not ready", f"See {log}.")


async def _stop_services(data_dir: Path) -> bool:
    files = sorted((data_dir / "services").glob("*.json"))
    found = [process for file in files if (process := processes.load(file)) is not None]
    alive = [p for p in found if processes.is_alive(p.pid, p.started_at)]
    await asyncio.gather(*(processes.stop(process) for process in alive))
    for file in files:
        file.unlink(missing_ok=True)
    return bool(alive)


def _write(path: Path, result: Listing) -> None:
    path.touch(0o600)
    path.chmod(0o600)
    draft = path.with_suffix(".new")
    draft.touch(0o600)
    draft.write_text(json.dumps(asdict(result), indent=2))
    draft.replace(path)
