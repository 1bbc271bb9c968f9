"""Tool calls and policy decisions, as facts. Writer: specialist."""

from typing import Literal

from event_schemas.payload import Instant, Json, Name, Payload, Sha256, Text


class ToolCalled(Payload):
    """A read-only tool answered (or failed) inside the task's grant (OBS-02)."""

    task_id: Name
    tool_call_id: Name
    tool: Name
    arguments: Json
    query_fingerprint: Sha256
    outcome: Literal["ok", "no_data", "error"]
    error_code: Name | None = None
    try_number: int = 1
    started_at: Instant
    milliseconds: float
    result_sha256: Sha256 | None = None
    rows_scanned: int = 0


class ToolDenied(Payload):
    """A tool call was refused before it touched anything."""

    task_id: Name
    tool_call_id: Name
    tool: Name
    arguments: Json
    query_fingerprint: Sha256
    code: Name
    detail: Text


class PolicyDecided(Payload):
    """The grant was weighed for one tool call, with the reason."""

    task_id: Name
    tool_call_id: Name
    tool: Name
    verdict: Literal["allow", "deny"]
    code: Name
