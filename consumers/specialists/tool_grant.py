"""What one delegation may read through its tools, and how that travels; pure."""

from collections.abc import Callable
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict

from consumers.specialists.telemetry import Sources

GRANT_KEY = "caseops/grant"


class GrantWindow(BaseModel):
    """The time range that may be read."""

    model_config = ConfigDict(frozen=True)

    start: AwareDatetime
    end: AwareDatetime


class ToolGrant(BaseModel):
    """What one delegation may read; it never comes from the arguments a model chooses."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    task_id: str
    services: tuple[str, ...]
    window: GrantWindow
    max_rows: int = 500_000
    case_folder: str = ""
    tools: tuple[str, ...] = ()


OpenSources = Callable[[ToolGrant], Sources]


def meta_of(grant: ToolGrant) -> dict[str, Any]:
    """Return the request metadata that carries *grant* to a tool server."""
    return {GRANT_KEY: grant.model_dump(mode="json")}
