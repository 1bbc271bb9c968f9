"""A local Apache Kafka cluster of one node or three: no Docker, no installed Java."""

import asyncio
import time
from functools import partial
from pathlib import Path

from infra import local_extra, processes
from infra.errors import DependencyAway
from infra.file_lock import exclusively
from infra.kafka import broker_files, layout
from infra.kafka.broker_files import Node
from infra.kafka.jars import Progress, resolve_jars
from infra.kafka.layout import Layout
from infra.kafka.readiness import brokers_known_by
from infra.processes import Process

_READY_SECONDS = 60.0


class KafkaCluster:
    """One node (or three) whose data and addresses live in *data_dir* and survive a kill.

    `start` is idempotent: nodes that a former process left running are adopted when they
    answer and replaced when they do not. Nodes outlive this process until `stop`.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        nodes: int = 1,
        cache_dir: Path | None = None,
        on_progress: Progress | None = None,
    ) -> None:
        if nodes not in {1, 3}:
            raise ValueError("a local cluster has one node or three")
        self._dir = data_dir.resolve()
        self._count = nodes
        self._cache_dir = cache_dir
        self._on_progress = on_progress
        self._jars: list[Path] = []

    async def start(self) -> None:
        """Start every node and return once all of them are in the metadata of the cluster."""
        await self._fetch_jars()
        async with exclusively(self._dir / "start.lock"):
            if not await self._answers():
                await self.stop()
                await self._start_all(self._layout().on_free_ports())

    async def stop(self) -> None:
        """Stop every node; none is left when this returns."""
        running = [process for process in self._saved().values() if process is not None]
        await asyncio.gather(*(processes.stop(process) for process in running))
        for number in self._saved():
            self._process_file(number).unlink(missing_ok=True)

    async def kill(self, node: int) -> None:
        """Kill *node* (1 to 3) as a power cut would: SIGKILL."""
        process = self._saved()[node]
        if process is not None:
            await processes.kill(process)

    async def restart(self, node: int) -> None:
        """Start *node* again, after stopping it if it runs, and wait until it takes part."""
        await self._fetch_jars()
        process = self._saved()[node]
        if process is not None:
            await processes.stop(process)
        kept = self._layout()
        self._launch(kept, kept.nodes[node - 1])
        await self._until_ready(kept.nodes[node - 1], {node})

    @property
    def bootstrap(self) -> str:
        """Return the bootstrap servers: known before a start, and changed only by one."""
        return ",".join(f"127.0.0.1:{node.client_port}" for node in self._layout().nodes)

    @property
    def pids(self) -> list[int]:
        """Return the process ids of the nodes that run."""
        return [
            process.pid
            for process in self._saved().values()
            if process is not None and processes.is_alive(process.pid, process.started_at)
        ]

    async def _answers(self) -> bool:
        if len(self.pids) < self._count:
            return False
        kept = self._layout()
        known = [await brokers_known_by(node.client_port) for node in kept.nodes]
        return all(brokers == kept.ids for brokers in known)

    async def _start_all(self, new: Layout) -> None:
        new.save(self._dir)
        try:
            await asyncio.gather(*(self._format(new, node) for node in new.nodes))
            for node in new.nodes:
                self._launch(new, node)
            await asyncio.gather(*(self._until_ready(node, new.ids) for node in new.nodes))
        except BaseException:
            await self.stop()
            raise

    async def _format(self, new: Layout, node: Node) -> None:
        folder = self._write_files(new, node)
        if (folder / "data" / "meta.properties").exists():
            return
        command = self._java(
            *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool"),
            *("format", "-t", new.cluster_id, "-c", folder / "server.properties"),
        )
        code, said = await asyncio.to_thread(processes.run, command)
        if code != 0:
            raise _away(f"the storage folder cannot be formatted: {said[-400:]}", folder)

    def _launch(self, kept: Layout, node: Node) -> None:
        folder = self._write_files(kept, node)
        logging = f"-Dlog4j2.configurationFile={folder / 'log4j2.xml'}"
        process = processes.start(
            self._java(
                *broker_files.JVM, logging, "kafka.Kafka", folder / "server.properties"
            ),
            log=folder / "console.log",
            cwd=folder,
        )
        process.save(self._process_file(node.id))

    async def _until_ready(self, node: Node, wanted: set[int]) -> None:
        folder, until = self._folder(node.id), time.monotonic() + _READY_SECONDS
        process = self._saved()[node.id]
        while not wanted <= await brokers_known_by(node.client_port):
            if process is None or not processes.is_alive(process.pid, process.started_at):
                raise _away(f"node {node.id} ended while starting", folder)
            if time.monotonic() > until:
                raise _away(
                    f"no answer from node {node.id} in {_READY_SECONDS:.0f} s", folder
                )
            await asyncio.sleep(0.05)

    def _write_files(self, kept: Layout, node: Node) -> Path:
        folder = self._folder(node.id)
        folder.mkdir(parents=True, exist_ok=True)
        text = broker_files.properties(node, kept.nodes, folder / "data")
        (folder / "server.properties").write_text(text)
        (folder / "log4j2.xml").write_text(broker_files.log4j2(folder))
        return folder

    async def _fetch_jars(self) -> None:
        if not self._jars:
            fetch = partial(resolve_jars, self._cache_dir, self._on_progress)
            self._jars = await asyncio.to_thread(fetch)

    def _java(self, *arguments: str | Path) -> list[str | Path]:
        return [local_extra.java(), "-cp", ":".join(map(str, self._jars)), *arguments]

    def _layout(self) -> Layout:
        return layout.kept_in(self._dir, count=self._count)

    def _folder(self, number: int) -> Path:
        return self._dir / f"node-{number}"

    def _process_file(self, number: int) -> Path:
        return self._folder(number) / "process.json"

    def _saved(self) -> dict[int, Process | None]:
        numbers = range(1, self._count + 1)
        return {number: processes.load(self._process_file(number)) for number in numbers}


def _away(reason: str, folder: Path) -> DependencyAway:
    return DependencyAway(
        "KAFKA_AWAY",
        f"the local Apache Kafka does not run: {reason}",
        f"Look at server.log and console.log in {folder}.",
    )
