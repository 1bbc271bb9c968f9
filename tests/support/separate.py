"""Every service as a process of its own, to be killed and started again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from caseops import installation, stack
from caseops.groups import ALL
from infra import processes
from infra.ports import free_ports


@dataclass
class Separate:
    """The processes of one installation, by service name."""

    data_dir: Path
    settings: dict[str, str]
    ports: dict[str, int]
    running: dict[str, processes.Process] = field(default_factory=dict)

    async def start(self, *names: str) -> None:
        """Start services and return once they are ready."""
        for name in names:
            self.running[name] = stack.start_process(
                self.data_dir,
                name,
                (name,),
                http_port=str(self.ports[name]),
                **self.settings,
            )
        await asyncio.gather(*(self.ready(name) for name in names))

    async def ready(self, name: str) -> None:
        """Return once the service answers that it is ready."""
        url = f"http://127.0.0.1:{self.ports[name]}"
        await stack.until_ready(self.data_dir, name, self.running[name], url)

    async def kill(self, name: str) -> None:
        """Kill a service as a power cut would."""
        await processes.kill(self.running[name])

    async def stop(self) -> None:
        """Stop all services."""
        await asyncio.gather(
            *(processes.stop(process) for process in self.running.values())
        )


@asynccontextmanager
async def separate_services(
    bootstrap: str, url: str, prefix: str, data_dir: Path, *, replication: int = 1
) -> AsyncIterator[Separate]:
    """Give an installation whose services run one per process, all ready."""
    await installation.apply(bootstrap, url, prefix, replication=replication, partitions=2)
    settings = {
        "kafka_bootstrap": bootstrap,
        "database_url": url,
        "topic_prefix": prefix,
        "instance": "test",
        "lease_seconds": "3",
        "log_level": "WARNING",
    }
    ports = dict(zip(ALL, free_ports(len(ALL)), strict=True))
    separate = Separate(data_dir, settings, ports)
    try:
        await separate.start(*ALL)
        yield separate
    finally:
        await separate.stop()
