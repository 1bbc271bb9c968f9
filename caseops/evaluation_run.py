"""Investigate many case folders, a few at a time, each as a run of its own."""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from time import monotonic

from caseops import output
from caseops.addresses import Addresses
from caseops.case_folder import alerts_of
from caseops.evaluation import Judged, incident_folders
from caseops.investigation import Patience, begin, ended, new_tag
from infra.errors import NotFound, WrongInput


def wanted(root: Path, only: Collection[str]) -> list[Path]:
    """Return the case folders below *root*, those named in *only* if any are."""
    found = [f for f in incident_folders(root) if not only or f.name in only]
    if not found:
        hint = "DIR holds case folders, or a folder `incidents` with them."
        raise WrongInput("NO_CASE_FOLDER", f"no case folder in {root}", hint)
    return found


async def judge_all(
    at: Addresses, folders: Sequence[Path], patience: Patience, *, parallel: int
) -> list[Judged]:
    """Return the judgement of each folder; one that does not come in time is an empty one."""
    gate = asyncio.Semaphore(parallel)
    tag = new_tag()

    async def judge(folder: Path) -> Judged:
        async with gate:
            begun = monotonic()
            try:
                run = await begin(at, alerts_of(folder, tag=tag), patience)
                document = await ended(at, run, patience)
            except NotFound as error:
                output.progress(f"{folder.name}: {error}")
                document = {}
            took = monotonic() - begun
        output.progress(f"{folder.name}: {took:.1f} s")
        return Judged(folder.name, document, took)

    return list(await asyncio.gather(*(judge(folder) for folder in folders)))
