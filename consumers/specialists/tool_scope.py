"""The check at a tool server's door: whether a call stays inside the grant beside it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from consumers.specialists.questions import Window
from consumers.specialists.telemetry import Scope, SourceError
from consumers.specialists.tool_grant import GRANT_KEY, ToolGrant


def grant_of(ctx: Context) -> ToolGrant:
    """Return the grant of the current request; refuse a request that has none."""
    meta = ctx.request_context.meta
    carried = meta.get(GRANT_KEY) if isinstance(meta, Mapping) else None
    try:
        return ToolGrant.model_validate(carried)
    except ValidationError as error:
        raise ToolError("SCOPE_EXCEEDED the request carries no valid grant") from error


def scope_of(
    grant: ToolGrant,
    tool: str,
    *,
    services: Sequence[str] = (),
    times: Sequence[datetime] = (),
    limit: int | None = None,
) -> Scope:
    """Return what this call reads, or refuse it when it goes beyond *grant*."""
    if grant.tools and tool not in grant.tools:
        raise ToolError(f"SCOPE_EXCEEDED tool {tool}")
    foreign = sorted(set(services) - set(grant.services))
    if foreign:
        raise ToolError(f"SCOPE_EXCEEDED service {', '.join(foreign)}")
    window = Window(grant.window.start, grant.window.end)
    if any(not window.start <= at <= window.end for at in times):
        raise ToolError("SCOPE_EXCEEDED time range")
    rows = grant.max_rows if limit is None else min(limit, grant.max_rows)
    return Scope(tuple(services) or grant.services, window, rows)


@contextmanager
def refusals_told() -> Iterator[None]:
    """Turn what a source refuses inside into the error that a caller is told."""
    try:
        yield
    except SourceError as error:
        raise ToolError(f"{error.code} {error}") from error
