"""Options that many commands share."""

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document on stdout.", show_default=False),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Folder of a local stack (default: CASEOPS_DATA_DIR, else .caseops).",
        show_default=False,
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, help="Show at most this many.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id, or its beginning.")]
