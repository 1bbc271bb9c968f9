"""Look: the frozen bytes behind evidence."""

import asyncio
import sys
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from caseops import output
from caseops.cli.options import AsJson, DataDir

artifact = typer.Typer(help="Frozen bytes behind evidence.", no_args_is_help=True)


@artifact.callback()
def _group() -> None:
    """Frozen bytes behind evidence."""


@artifact.command("get")
def get(
    name: Annotated[str, typer.Argument(metavar="SHA256|URI")],
    data_dir: DataDir = None,
    *,
    to: Annotated[
        Path | None, typer.Option("--output", help="Write the bytes to this file.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Print an artifact's bytes, or with --json its size, hash and text."""
    from infra.artifacts import SCHEME

    sha = name.removeprefix(SCHEME)
    data = asyncio.run(_fetch(sha, data_dir))
    if to is not None:
        to.write_bytes(data)
    if as_json:
        digest = sha256(data).hexdigest()
        text = data.decode("utf-8", "replace")
        output.document(
            {"sha256": sha, "size": len(data), "intact": digest == sha, "text": text}
        )
    elif to is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    return output.DONE


async def _fetch(sha: str, data_dir: DataDir) -> bytes:
    from caseops.addresses import addresses
    from infra.artifacts import ArtifactStore

    at = addresses(data_dir)
    async with at.connection() as reader:
        return await ArtifactStore(at.data_dir, at.prefix).get(reader, sha)
