"""The product's source files, for tests that read code instead of running it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "event_schemas",
    "infra",
    "projections",
    "consumers",
    "producers",
    "outbox_relay",
    "caseops",
    "playbooks",
)


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file of the product; *path* is relative to the repository."""

    path: str
    text: str
    tree: ast.Module


def sources() -> Iterator[Source]:
    """Yield every Python file of the product, in the order of paths."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            yield Source(str(file.relative_to(ROOT)), text, ast.parse(text))
