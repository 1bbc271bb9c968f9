"""One run from alert to completion: latency, runs per second, CPU per run, memory.

The services run in the process groups of local mode over a small case folder, so tools and
analyses are real. CPU is that of all processes, Kafka and PostgreSQL included.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from caseops import stack as local_stack
from caseops.groups import GROUPS
from infra.observability import configure_logs
from tests.support.case_folders import payment_case
from tests.support.records import alert_record

TICKS = 100.0
ONE_BY_ONE = 20
IN_FLIGHT = (16, 64)
IDLE_SECONDS = 10.0


class Bench:
    """A plain producer and a plain consumer around a running stack."""

    def __init__(self, listing: local_stack.Listing, folder: Path, tag: str) -> None:
        self.pids = listing.pids
        self.tag = tag
        self.folder = folder
        self._producer = AIOKafkaProducer(
            bootstrap_servers=listing.kafka_bootstrap, acks="all", enable_idempotence=True
        )
        self._consumer = AIOKafkaConsumer(
            "caseops.completions",
            bootstrap_servers=listing.kafka_bootstrap,
            auto_offset_reset="latest",
        )
        self._done: dict[str, float] = {}
        self._waiting: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Bench"]:
        """Be connected while the block runs."""
        await self._producer.start()
        await self._consumer.start()
        await self._consumer.seek_to_end()
        reading = asyncio.create_task(self._read())
        try:
            yield self
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await self._producer.stop()
            await self._consumer.stop()

    async def run(self, number: int) -> float:
        """Publish one alert and return the seconds until its completion event."""
        name = f"{self.tag}-{number}"
        record = alert_record(
            0,
            identity=name,
            fingerprint=name,
            environment=name,
            window_start="2026-07-23T01:45:00Z",
            window_end="2026-07-23T02:10:00Z",
            case_folder=str(self.folder),
        )
        self._waiting[name] = asyncio.Event()
        begun = perf_counter()
        await self._producer.send_and_wait(
            "caseops.alerts", record.value, key=name.encode(), headers=list(record.headers)
        )
        await asyncio.wait_for(self._waiting[name].wait(), 60)
        return self._done[name] - begun

    async def _read(self) -> None:
        async for record in self._consumer:
            name = json.loads(record.value)["environment"]
            self._done[name] = perf_counter()
            if name in self._waiting:
                self._waiting[name].set()


def cpu_seconds(pids: dict[str, int]) -> float:
    """Return user and system seconds of *pids* and of their children so far."""
    return sum(_ticks(pid) for pid in _with_children(set(pids.values()))) / TICKS


def memory(pids: dict[str, int]) -> dict[str, float]:
    """Return resident megabytes per process of the stack."""
    return {f"rss_mb_{name}": _resident(pid) for name, pid in pids.items()}


async def measure(runs: int) -> list[dict[str, float]]:
    """Return the figures of *runs* rounds over one stack."""
    configure_logs("ERROR", "text")
    with tempfile.TemporaryDirectory(prefix="caseops-bench-") as text:
        data_dir = Path(text)
        data_dir.chmod(0o755)
        folder = payment_case(data_dir / "case")
        listing = await local_stack.up(data_dir / "stack", progress=lambda _: None)
        try:
            warm = Bench(listing, folder, "warm")
            async with warm.connected():
                await asyncio.gather(*(warm.run(number) for number in range(32)))
            return [await _round(listing, folder, number) for number in range(runs)]
        finally:
            await local_stack.down(data_dir / "stack", progress=lambda _: None)


async def _round(
    listing: local_stack.Listing, folder: Path, number: int
) -> dict[str, float]:
    await asyncio.sleep(IDLE_SECONDS)
    services = {n: p for n, p in listing.pids.items() if n in GROUPS}
    idle = cpu_seconds(services)
    await asyncio.sleep(IDLE_SECONDS)
    figures = {"idle_cpu_per_second": (cpu_seconds(services) - idle) / IDLE_SECONDS}
    bench = Bench(listing, folder, f"round-{number}")
    async with bench.connected():
        before = cpu_seconds(listing.pids)
        times = [await bench.run(at) for at in range(ONE_BY_ONE)]
        used = cpu_seconds(listing.pids) - before
        figures["one_p50_ms"] = median(times) * 1000
        figures["one_p95_ms"] = quantiles(times, n=20)[18] * 1000
        figures["one_cpu_ms"] = used / ONE_BY_ONE * 1000
        for width in IN_FLIGHT:
            figures |= await _flight(bench, width)
    return {**figures, **memory(listing.pids)}


async def _flight(bench: Bench, width: int) -> dict[str, float]:
    total, gate = width * 6, asyncio.Semaphore(width)

    async def one(number: int) -> float:
        async with gate:
            return await bench.run(1000 * width + number)

    before, begun = cpu_seconds(bench.pids), perf_counter()
    times = await asyncio.gather(*(one(number) for number in range(total)))
    took, used = perf_counter() - begun, cpu_seconds(bench.pids) - before
    return {
        f"{width}_runs_per_second": total / took,
        f"{width}_p50_ms": median(times) * 1000,
        f"{width}_p95_ms": quantiles(times, n=20)[18] * 1000,
        f"{width}_cpu_ms": used / total * 1000,
    }


def _with_children(pids: set[int]) -> set[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
    return pids | {pid for pid, parent in parents.items() if parent in pids}


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(fields[at]) for at in (11, 12, 13, 14))


def _resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0
