"""Measure each promise, medians of so many runs, and name the machine: `make bench`."""

import argparse
import asyncio
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks import loop, relay, run

TARGETS = {
    "relay rows_per_second": ">= 20,000",
    "relay p50_ms": "<= 3",
    "relay p99_ms": "<= 15",
    "loop records_per_second": ">= 8,000",
    "run idle_cpu_per_second": "<= 0.1",
}


def main() -> None:
    """Print a table on standard error and one JSON document on standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    figures = {
        **_medians("loop", asyncio.run(loop.measure(runs))),
        **_medians("relay", asyncio.run(relay.measure(runs))),
        **_medians("run", asyncio.run(run.measure(runs))),
    }
    table = Table("figure", "median", "target", title=f"medians of {runs}, {machine()}")
    for name, value in figures.items():
        table.add_row(name, f"{value:,.2f}", TARGETS.get(name, ""))
    Console(file=sys.stderr).print(table)
    print(json.dumps({"machine": machine(), "runs": runs, "medians": figures}))


def machine() -> str:
    """Return processor, cores and Python of this machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(
        (x.partition(":")[2].strip() for x in lines if x.startswith("model name")), ""
    )
    return f"{model or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _medians(name: str, runs: Sequence[dict[str, float]]) -> dict[str, float]:
    return {f"{name} {key}": round(median(one[key] for one in runs), 2) for key in runs[0]}


if __name__ == "__main__":
    main()
