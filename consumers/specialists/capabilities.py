"""What one specialist is, as data: its identity, its tools, its analyst, its limits. Pure."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from consumers.specialists.questions import Finding, Question, ToolCall

Findings = tuple[Finding, ...]
NextCalls = Callable[
    [Question, Findings], Sequence[ToolCall] | Awaitable[Sequence[ToolCall]]
]
Conclude = Callable[[Question, Findings], Any]
"""Returns a `Conclusion`, or a whole result document as it will be submitted."""


@dataclass(frozen=True, slots=True)
class Analyst:
    """Which reads are wanted next, and what they amount to; each may be a coroutine function."""

    next_calls: NextCalls
    conclude: Conclude


@dataclass(frozen=True, slots=True)
class Tool:
    """One read-only tool, `name@version`, and the evidence that its answers make."""

    name: str
    kind: str
    prefix: str
    source: str
    supports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One specialist; *tool_server* builds its MCP server over an opener of sources."""

    name: str
    agent_id: str
    short: str
    tools: tuple[Tool, ...]
    scopes: tuple[str, ...]
    analyst: Analyst
    tool_server: Callable[[Any], Any]

    def tool(self, name: str) -> Tool | None:
        """Return the tool called *name*, None when this specialist has none of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True, slots=True)
class Limits:
    """How a specialist process works; times in seconds.

    A worker goes on past the delegation's deadline for *late*: its answer is then recorded as
    late by the join. A tool is tried *tries* times when it says that it is busy or away.
    """

    workers: int = 16
    lease: float = 30.0
    late: float = 900.0
    tries: int = 3
    pause: float = 0.2
    one_try: float = 30.0
    drain: float = 5.0
