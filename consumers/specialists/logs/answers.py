"""What the log tools answer: aggregates, never whole logs."""

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict

BreakKind = Literal["cut_short", "error_branch", "silent", "other"]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class Template(_Answer):
    """One kind of message of one service, counted before and after the onset."""

    service: str
    level: str
    template: str
    baseline: int
    abnormal: int
    total: int
    first_seen: AwareDatetime
    example: str


class FlowBreak(_Answer):
    """A place in a service's flow that is followed by something else than before."""

    service: str
    place: str
    kind: BreakKind
    before: dict[str, int]
    after: dict[str, int]
    strength: float
    also: tuple[str, ...] = ()


class LogSummary(_Answer):
    """Answer of `search_logs`."""

    rows_scanned: int
    truncated: bool
    missing: tuple[str, ...]
    baseline_lines: int
    abnormal_lines: int
    templates: tuple[Template, ...]
    breaks: tuple[FlowBreak, ...]


class EdgeShift(_Answer):
    """Calls from one service to another, before and after; times in milliseconds."""

    caller: str
    callee: str
    spans_before: int
    spans_after: int
    p95_before: float | None
    p95_after: float | None
    gap_before: float | None
    gap_after: float | None
    gap_since: AwareDatetime | None


class TraceSummary(_Answer):
    """Answer of `read_trace`."""

    rows_scanned: int
    entry_services: tuple[str, ...]
    edges: tuple[EdgeShift, ...]
    breaks: tuple[FlowBreak, ...]
