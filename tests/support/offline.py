"""Runs the three analyses over a case folder without Kafka: tools in memory, then ranking."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.server import MCPServer

from consumers.specialists.changes import analysis as changes
from consumers.specialists.changes import tool_server as change_tools
from consumers.specialists.logs import analysis as logs
from consumers.specialists.logs import tool_server as log_tools
from consumers.specialists.metrics import analysis as metrics
from consumers.specialists.metrics import tool_server as metric_tools
from consumers.specialists.questions import Conclusion, Finding, Question, ToolCall, Window
from consumers.specialists.sources.opened import case_folders
from consumers.specialists.tool_grant import GrantWindow, ToolGrant, meta_of
from consumers.supervisor.ranking import Verdict, rank

SPECIALISTS: dict[str, tuple[Any, Callable[..., MCPServer]]] = {
    "logs": (logs, log_tools.build),
    "metrics": (metrics, metric_tools.build),
    "changes": (changes, change_tools.build),
}

EVIDENCE_KINDS = {
    name: next(iter(analysis.EVIDENCE.values()))[0]
    for name, (analysis, _) in SPECIALISTS.items()
}


async def investigate_offline(folder: Path | str) -> tuple[dict[str, Conclusion], Verdict]:
    """Return each specialist's conclusion about the case in *folder*, and the verdict."""
    question = question_of(Path(folder))
    conclusions = {
        name: await ask(name, question, Path(folder), task_id=f"task-{name}")
        for name in SPECIALISTS
    }
    claims = [
        claim.model_dump(mode="json")
        for conclusion in conclusions.values()
        for claim in conclusion.claims
    ]
    return conclusions, rank(claims)


async def ask(name: str, question: Question, folder: Path, *, task_id: str) -> Conclusion:
    """Return what specialist *name* concludes when it may call its own tools only."""
    analysis, build = SPECIALISTS[name]
    meta = meta_of(
        ToolGrant(
            task_id=task_id,
            services=question.services,
            window=GrantWindow(start=question.window.start, end=question.window.end),
            case_folder=str(folder),
        )
    )
    findings: tuple[Finding, ...] = ()
    async with Client(build(case_folders())) as client:
        while calls := analysis.next_calls(question, findings):
            for call in calls:
                found = await call_tool(client, call, meta, number=len(findings) + 1)
                kind, supports = analysis.EVIDENCE[call.tool]
                updated = {"kind": kind, "supports_types": supports}
                findings = (*findings, found.model_copy(update=updated))
    conclusion: Conclusion = analysis.conclude(question, findings)
    return conclusion


async def call_tool(client: Client, call: ToolCall, meta: Any, *, number: int) -> Finding:
    """Return what one tool call brought, an error included."""
    name = call.tool.partition("@")[0]
    result = await client.call_tool(name, dict(call.arguments), meta=meta)
    error = result.content[0].text if result.is_error else None  # type: ignore[union-attr]
    return Finding(
        evidence_id=f"ev-{number}",
        kind="",
        tool=call.tool,
        arguments=call.arguments,
        content=None if error else result.structured_content,
        error=error,
        retryable=bool(error and ("RATE_LIMITED" in error or "UNAVAILABLE" in error)),
        source=name,
    )


def question_of(folder: Path) -> Question:
    """Return the question that `alert.json` and `context.json` of *folder* ask."""
    context = json.loads((folder / "context.json").read_text())
    alerts = json.loads((folder / "alert.json").read_text())["alerts"]
    return Question(
        task_id="task-offline",
        goal="find the cause",
        services=tuple(context["services"]),
        window=Window(_at(context["window"]["start"]), _at(context["window"]["end"])),
        signals=tuple(
            {
                "signal_kind": alert["labels"].get("alertname", ""),
                "severity": alert["labels"].get("severity", ""),
                "service": alert["labels"].get("service"),
                "labels": alert["labels"],
                "annotations": alert["annotations"],
                "starts_at": alert["startsAt"],
            }
            for alert in alerts
        ),
    )


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)
