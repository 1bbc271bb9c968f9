"""Opens the source behind a grant and keeps it open while its delegation lasts."""

from consumers.specialists.sources.case_folder import CaseFolder
from consumers.specialists.telemetry import Sources
from consumers.specialists.tool_grant import OpenSources, ToolGrant

_KEPT = 8


def case_folders() -> OpenSources:
    """Return an opener of case folders: one per delegation, the last few kept.

    A second call of the same delegation sees the same object, so that a rate limit counts.
    """
    opened: dict[tuple[str, str], CaseFolder] = {}

    def open_folder(grant: ToolGrant) -> CaseFolder:
        key = (grant.case_folder, grant.task_id)
        found = opened.pop(key, None) or CaseFolder(grant.case_folder)
        opened[key] = found
        while len(opened) > _KEPT:
            opened.pop(next(iter(opened)))
        return found

    return open_folder


def by_grant(folders: OpenSources, live: Sources) -> OpenSources:
    """Return an opener that reads a grant's case folder if it names one, else *live*."""
    return lambda grant: folders(grant) if grant.case_folder else live
