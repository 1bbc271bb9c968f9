"""The MCP client of a specialist: one connection per process, the grant beside every call."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent

from consumers.specialists.tool_grant import ToolGrant, meta_of
from event_schemas.payload import Json

UNAVAILABLE = "UPSTREAM_UNAVAILABLE"
RETRYABLE = frozenset({"RATE_LIMITED", UNAVAILABLE, "TOOL_TIMEOUT"})
KNOWN = re.compile(
    r"\b(SCOPE_EXCEEDED|RATE_LIMITED|UPSTREAM_UNAVAILABLE|NOT_KEPT|ACCESS_DENIED)\b(.*)",
    re.S,
)
VERSION_KEY = "caseops/version"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one try of a tool brought: *content*, or a stable *code* with a word for people."""

    content: dict[str, Json] | None = None
    code: str | None = None
    detail: str = ""

    @property
    def rows(self) -> int:
        """Return how many rows the tool server read for it."""
        rows = (self.content or {}).get("rows_scanned", 0)
        return rows if isinstance(rows, int) else 0


@dataclass(slots=True)
class Toolbox:
    """The tools of one server: an object in this process, or the URL of one elsewhere."""

    server: MCPServer | str
    try_seconds: float = 30.0
    _client: Client | None = field(default=None, init=False)
    _versions: dict[str, str] = field(default_factory=dict, init=False)
    _opened: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)

    async def __aenter__(self) -> "Toolbox":
        """Connect and read which tools in which versions there are."""
        self._client = await self._stack.enter_async_context(Client(self.server))
        listed = await self._client.list_tools()
        self._versions = {
            tool.name: str((tool.meta or {}).get(VERSION_KEY, "1")) for tool in listed.tools
        }
        self._opened.set()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Disconnect; in the task that connected."""
        self._opened.clear()
        self._client = None
        await self._stack.aclose()

    async def call(
        self, tool: str, arguments: Mapping[str, Json], grant: ToolGrant
    ) -> Answer:
        """Return what *tool* (`name@version`) answers, an error as its code; never raises.

        Waits until the toolbox is open. One try, at most *try_seconds* long.
        """
        await self._opened.wait()
        name, _, version = tool.partition("@")
        if self._client is None or self._versions.get(name) != version:
            return Answer(code="TOOL_NOT_EXPOSED", detail=f"the server has no {tool}")
        try:
            async with asyncio.timeout(self.try_seconds):
                result = await self._client.call_tool(
                    name, dict(arguments), meta=_meta(grant)
                )
        except TimeoutError:
            return Answer(code="TOOL_TIMEOUT", detail=f"no answer in {self.try_seconds} s")
        except RuntimeError:
            return Answer(code="TOOL_CONTRACT", detail="the answer breaks its own schema")
        except Exception as error:  # noqa: BLE001 - SDK errors are translated here, once
            return Answer(code=UNAVAILABLE, detail=type(error).__name__)
        return _read(result)


def _meta(grant: ToolGrant) -> Any:  # noqa: ANN401 - the SDK's own request metadata
    return meta_of(grant)


def _read(result: CallToolResult) -> Answer:
    if not result.is_error:
        if isinstance(result.structured_content, dict):
            return Answer(content=result.structured_content)
        return Answer(code="TOOL_CONTRACT", detail="the answer has no structured content")
    text = " ".join(c.text for c in result.content if isinstance(c, TextContent))
    found = KNOWN.search(text)
    if found is None:
        return Answer(code="TOOL_FAILED", detail="the tool failed")
    return Answer(code=found[1], detail=found[2].strip()[:200])
