"""Run what a document tells its reader to run: blocks marked executed, in their order.

`python -m tests.support.documented FILE…`: shell lines of ```console blocks, ```python blocks
as scripts. The first that fails ends the run.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.source_tree import ROOT

SECONDS = 300
BLOCK = re.compile(r"<!-- executed -->\n```(console|python)\n(.*?)\n```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """One executed block: what starts it, and its first line."""

    command: tuple[str, ...]
    title: str


def examples(text: str) -> Iterator[Example]:
    """Yield the executed blocks of a document, a console block line by line."""
    for language, body in BLOCK.findall(text):
        if language == "python":
            yield Example((sys.executable, "-c", body), f"python: {body.splitlines()[-1]}")
            continue
        for line in body.splitlines():
            if line.startswith("$ "):
                yield Example(("bash", "-c", line[2:]), line[2:])


def run(example: Example) -> int:
    """Run *example* in the repository with .venv first on the path; return its exit code."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    started = time.monotonic()
    sys.stdout.write(f"--- {example.title}\n")
    sys.stdout.flush()
    done = subprocess.run(
        example.command,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    sys.stdout.write(f"--- exit {done.returncode}, {time.monotonic() - started:.1f} s\n")
    return done.returncode


def main(files: list[str]) -> int:
    """Run the examples of *files*; return the exit code of the first that fails."""
    for file in files:
        for example in examples(Path(file).read_text(encoding="utf-8")):
            if code := run(example):
                return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
