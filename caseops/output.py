"""What commands print: one JSON document or text for people on stdout, problems as one line."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from infra.errors import (
    CaseOpsError,
    DependencyAway,
    NotFound,
    Poison,
    Transient,
    WrongInput,
)

DONE, NO, WRONG, AWAY = 0, 1, 2, 3
PIPED_WIDTH = 200
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (DependencyAway, AWAY),
    (Transient, AWAY),
    (Poison, AWAY),
    (WrongInput, WRONG),
    (NotFound, NO),
)


def exit_code(error: Exception) -> int:
    """Return the exit code that stands for *error*."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), NO)


def document(value: Any) -> None:  # noqa: ANN401 - any JSON
    """Print *value* as the one JSON document of this command."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=_plain) + "\n")
    sys.stdout.flush()


def text(line: str) -> None:
    """Print a line for people."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def progress(line: str) -> None:
    """Say on stderr what is going on."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print *rows* as a table for people; an empty one says so."""
    from rich.console import Console
    from rich.table import Table

    if not rows:
        text(f"{title}: none")
        return
    shown = Table(title=title, title_justify="left", header_style="bold")
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*(cell(value) for value in row))
    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print(shown)


def cell(value: object) -> str:
    """Return *value* as one cell of a table: escaped, times without their fraction."""
    from rich.markup import escape

    if value is None:
        return "-"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%SZ")
    return escape(str(value))


def problem(error: Exception, *, as_json: bool) -> None:
    """Print *error*: one line on stderr, or its JSON object on stdout."""
    told = described(error)
    if as_json:
        document(told)
        return
    hint = f" {told['hint']}" if told["hint"] else ""
    progress(f"{told['code']}: {told['message'].rstrip('.')}.{hint}")


def described(error: Exception) -> dict[str, Any]:
    """Return *error* as `{code, message, hint, details}`."""
    if isinstance(error, CaseOpsError):
        return _told(error.code, error.message, error.hint)
    if isinstance(error, Poison):
        hint = "Bring the database to this release's schema: `caseops up`."
        return _told(error.code, error.detail, hint)
    hint = "Is it running? `caseops doctor` tells."
    return _told("DATABASE_AWAY", f"PostgreSQL did not answer: {error}", hint)


def _told(code: str, message: str, hint: str) -> dict[str, Any]:
    return {"code": code, "message": " ".join(message.split()), "hint": hint, "details": {}}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
