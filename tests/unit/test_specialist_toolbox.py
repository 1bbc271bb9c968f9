"""The MCP client of a specialist, on real servers in this process."""

import asyncio
from datetime import UTC, datetime

import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

from caseops.playbooks import load
from consumers.specialists.catalogue import BY_NAME, CATALOGUE
from consumers.specialists.sources.opened import case_folders
from consumers.specialists.tool_grant import GrantWindow, ToolGrant
from consumers.specialists.toolbox import Answer, Toolbox

AT = datetime(2026, 7, 23, 2, 2, tzinfo=UTC)
GRANT = ToolGrant(task_id="t", services=("a",), window=GrantWindow(start=AT, end=AT))


class Rows(BaseModel):
    """Answer of the tools below."""

    rows_scanned: int


def a_server() -> MCPServer:
    """Return a server whose tools end in every way a tool can end."""
    server = MCPServer("tools", version="1.0.0")

    @server.tool()
    async def good() -> Rows:
        """Answer."""
        return Rows(rows_scanned=3)

    @server.tool()
    async def refuses(text: str) -> Rows:
        """Refuse with *text*."""
        raise ToolError(text)

    @server.tool()
    async def crashes() -> Rows:
        """Break."""
        raise RuntimeError("password=hunter2")

    @server.tool()
    async def hangs() -> Rows:
        """Never answer."""
        await asyncio.Event().wait()
        return Rows(rows_scanned=0)

    @server.tool(structured_output=False)
    async def prose() -> str:
        """Answer without structure."""
        return "words"

    return server


def a_toolbox() -> Toolbox:
    """Return a toolbox of these tools; it opens and closes in the test's own task."""
    return Toolbox(a_server(), try_seconds=0.2)


async def test_an_answer_is_its_structured_content() -> None:
    """What the tool returns comes back as data, with the rows it read."""
    async with a_toolbox() as toolbox:
        answer = await toolbox.call("good@1", {}, GRANT)

    assert Answer(content={"rows_scanned": 3}) == answer
    assert 3 == answer.rows


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("refuses@1", {"text": "SCOPE_EXCEEDED service x"}, "SCOPE_EXCEEDED"),
        ("refuses@1", {"text": "RATE_LIMITED metrics"}, "RATE_LIMITED"),
        ("refuses@1", {"text": "UPSTREAM_UNAVAILABLE logs"}, "UPSTREAM_UNAVAILABLE"),
        ("refuses@1", {"text": "NOT_KEPT traces"}, "NOT_KEPT"),
        ("refuses@1", {"text": "ACCESS_DENIED audit"}, "ACCESS_DENIED"),
        ("refuses@1", {"text": "anything"}, "TOOL_FAILED"),
        ("refuses@1", {}, "TOOL_FAILED"),
        ("crashes@1", {}, "TOOL_FAILED"),
        ("prose@1", {}, "TOOL_CONTRACT"),
        ("hangs@1", {}, "TOOL_TIMEOUT"),
        ("good@2", {}, "TOOL_NOT_EXPOSED"),
        ("rollback@1", {}, "TOOL_NOT_EXPOSED"),
    ],
)
async def test_an_error_is_a_code(tool: str, arguments: dict[str, str], code: str) -> None:
    """No way a tool can end raises, and nothing internal comes through."""
    async with a_toolbox() as toolbox:
        answer = await toolbox.call(tool, arguments, GRANT)

    assert (None, code) == (answer.content, answer.code)
    assert "hunter2" not in answer.detail


async def test_a_failed_call_leaves_the_toolbox_usable() -> None:
    """After a time-out and a crash the next call works."""
    async with a_toolbox() as toolbox:
        await toolbox.call("hangs@1", {}, GRANT)
        await toolbox.call("crashes@1", {}, GRANT)
        answer = await toolbox.call("good@1", {}, GRANT)

    assert 3 == answer.rows


async def test_calls_from_many_tasks_share_one_connection() -> None:
    """All workers of a process call at the same time."""
    async with a_toolbox() as toolbox:
        calls = (toolbox.call("good@1", {}, GRANT) for _ in range(50))
        answers = await asyncio.gather(*calls)

    assert 150 == sum(answer.rows for answer in answers)


@pytest.mark.parametrize("name", sorted(BY_NAME))
async def test_the_catalogue_names_tools_that_exist(name: str) -> None:
    """Each tool of the catalogue is exposed by its own server in that very version."""
    entry = BY_NAME[name]
    async with Toolbox(entry.tool_server(case_folders())) as opened:
        for tool in entry.tools:
            answer = await opened.call(tool.name, {"services": ["not-granted"]}, GRANT)
            assert answer.code != "TOOL_NOT_EXPOSED"


def test_specialists_share_no_tool_and_no_right() -> None:
    """Tools, scopes and evidence prefixes are separate (SPEC-08)."""
    for values in (
        [tool.name for entry in CATALOGUE for tool in entry.tools],
        [tool.prefix for entry in CATALOGUE for tool in entry.tools],
        [scope for entry in CATALOGUE for scope in entry.scopes],
        [entry.short for entry in CATALOGUE],
    ):
        assert len(values) == len(set(values))


def test_playbooks_ask_for_what_the_catalogue_has() -> None:
    """No reference playbook orders a tool, scope or kind that its specialist lacks."""
    for playbook in load():
        for step in playbook.steps:
            entry = BY_NAME[step.specialist]
            assert entry.agent_id == step.agent_id
            assert set(step.tools) <= {tool.name for tool in entry.tools}
            assert set(step.scopes) <= set(entry.scopes)
            assert set(step.evidence_kinds) <= {tool.kind for tool in entry.tools}
