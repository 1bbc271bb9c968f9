"""The published language as files: JSON Schemas and the AsyncAPI document, written and checked."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from event_schemas.asyncapi import asyncapi_document
from event_schemas.registry import REGISTRY, EventType
from event_schemas.upcasters import UPCASTERS

FOLDER = Path(__file__).parent
VERSION = "1.0.0"
"""Version of the published language: minor when a type is added, major when one is replaced."""


def schema_of(entry: EventType) -> dict[str, Any]:
    """Return the JSON Schema of *entry*'s data, identified by its `dataschema` URI."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": entry.dataschema,
        **entry.payload.model_json_schema(mode="validation"),
    }


def documents() -> dict[str, str]:
    """Return every generated file as relative path -> text."""
    schemas = {f"json/{entry.name}.json": _text(schema_of(entry)) for entry in REGISTRY}
    return {**schemas, "asyncapi.json": _text(asyncapi_document(VERSION))}


def write(folder: Path = FOLDER) -> None:
    """Write all generated files under *folder* and drop schemas of types nobody knows."""
    (folder / "json").mkdir(parents=True, exist_ok=True)
    for surplus in _surplus(folder):
        (folder / surplus).unlink()
    for path, text in documents().items():
        (folder / path).write_text(text, encoding="utf-8")


def differences(folder: Path = FOLDER) -> list[str]:
    """Return one line per file under *folder* that differs from what the code generates."""
    stale = [
        f"differs: {path}"
        for path, text in documents().items()
        if _read(folder, path) != text
    ]
    return [*stale, *(f"nobody registers: {path}" for path in _surplus(folder))]


def _surplus(folder: Path) -> list[str]:
    # Old versions keep their schema: events on the log still point at it.
    known: Mapping[str, object] = {
        **documents(),
        **{f"json/{n}.json": 0 for n in UPCASTERS},
    }
    found = (f"json/{path.name}" for path in sorted((folder / "json").glob("*.json")))
    return [path for path in found if path not in known]


def _read(folder: Path, path: str) -> str | None:
    file = folder / path
    return file.read_text(encoding="utf-8") if file.exists() else None


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Run `write` or `check`; return 0 done, 1 files differ, 2 wrong usage."""
    if arguments == ["write"]:
        write()
        return 0
    if arguments == ["check"]:
        found = differences()
        sys.stderr.writelines(f"{line}\n" for line in found)
        if found:
            sys.stderr.write("run `make schemas` and commit what changed\n")
        return 1 if found else 0
    sys.stderr.write("usage: python -m event_schemas.published write|check\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
