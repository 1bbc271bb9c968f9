"""A specialist over a real database: orders as records, scripted analysts, scripted tools."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

from consumers.specialists.app import SpecialistApp, Workplace
from consumers.specialists.capabilities import Analyst, CatalogueEntry, Limits
from consumers.specialists.catalogue import BY_NAME
from consumers.specialists.questions import Claim, Conclusion, Finding, Question, ToolCall
from consumers.specialists.sources.opened import case_folders as opener
from consumers.specialists.tool_grant import ToolGrant
from consumers.specialists.tool_scope import grant_of
from event_schemas.delegations import CancelDelegation, ExecuteDelegation
from event_schemas.envelope import Envelope
from event_schemas.payload import Payload
from event_schemas.registry import BY_PAYLOAD, read
from infra.artifacts import ArtifactStore
from tests.support.builders import RUN, a
from tests.support.records import RawRecord, event_record
from tests.support.store import edges_to, log_of

DEADLINE = "2099-01-01T00:00:00Z"
KINDS = ["log_aggregate", "trace_aggregate"]
QUICK = Limits(workers=4, lease=30.0, pause=0.01, one_try=5.0, drain=0.2)


def an_order(
    task_id: str = "task-1", *, delegation: dict[str, Any] | None = None, **changes: Any
) -> ExecuteDelegation:
    """Return the golden order for *task_id*, due far away, with changes (as JSON values)."""
    golden = a(ExecuteDelegation).model_dump(mode="json")["delegation"]
    asked = {
        **golden,
        "delegation_task_id": task_id,
        "allowed_evidence_kinds": KINDS,
        "deadline_at": DEADLINE,
        **(delegation or {}),
    }
    return a(
        ExecuteDelegation,
        **{"task_id": task_id, "deadline_at": DEADLINE, "delegation": asked, **changes},
    )


def a_cancel(task_id: str = "task-1") -> CancelDelegation:
    """Return the order to stop working on *task_id*."""
    return a(CancelDelegation, task_id=task_id, addressee="logs", run_id=RUN)


def order_record(
    offset: int, order: ExecuteDelegation | CancelDelegation, identity: str | None = None
) -> RawRecord:
    """Return *order* as the relay publishes it, on partition 0 of the addressee's topic."""
    entry = BY_PAYLOAD[type(order)]
    envelope = Envelope(
        id=identity or f"order-{offset}",
        source="/caseops/supervisor",
        type=entry.name,
        time=None,
        data=order.model_dump_json().encode(),
        tenantid="prod-cn",
        runid=order.run_id,
        correlationid=order.run_id,
        partitionkey=order.run_id,
    )
    return event_record(offset, envelope, f"caseops.commands.{order.addressee}")


class Found(BaseModel):
    """Answer of the scripted tool."""

    rows_scanned: int
    note: str


@dataclass
class Script:
    """What the scripted log tools do: one step per call, the last one for ever."""

    steps: Sequence[int | str] = (10,)
    note: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    grants: list[ToolGrant] = field(default_factory=list)

    def server(self, _open_sources: object = None) -> MCPServer:
        """Return the tool server: a number answers so many rows, a text is an error."""
        server = MCPServer("scripted", version="1.0.0")

        @server.tool(meta={"caseops/version": "2"})
        async def search_logs(services: list[str], ctx: Context) -> Found:
            """Answer as scripted."""
            step = self.steps[min(len(self.calls), len(self.steps) - 1)]
            self.calls.append({"services": services})
            self.grants.append(grant_of(ctx))
            if isinstance(step, str):
                raise ToolError(step)
            return Found(rows_scanned=step, note=self.note)

        return server


SEARCH = ToolCall(tool="search_logs@2", arguments={"services": ["payment-api"]})


def ask(*calls: ToolCall) -> Callable[[Question, tuple[Finding, ...]], Sequence[ToolCall]]:
    """Return a `next_calls` that wants *calls*, one round."""
    return lambda _question, findings: () if findings else calls


def one_claim(_question: Question, findings: tuple[Finding, ...]) -> Conclusion:
    """Return one claim on whatever was found, or that there was nothing."""
    refs = tuple(each.evidence_id for each in findings if not each.error)
    if not refs:
        return Conclusion(status="no_data", summary="nothing")
    claim = Claim(
        claim_id="any",
        key="primary_cause",
        value="pool",
        statement="the pool ran dry",
        confidence=0.8,
        evidence_refs=refs,
    )
    return Conclusion(status="completed", summary="found", claims=(claim,))


def logs_entry(
    script: Script | None = None,
    *,
    next_calls: Callable[..., Any] | None = None,
    conclude: Callable[..., Any] = one_claim,
) -> CatalogueEntry:
    """Return the logs specialist with a scripted analyst and scripted tools."""
    return replace(
        BY_NAME["logs"],
        analyst=Analyst(next_calls or ask(SEARCH), conclude),
        tool_server=(script or Script()).server,
    )


@asynccontextmanager
async def specialist(
    url: str,
    entry: CatalogueEntry | None = None,
    limits: Limits = QUICK,
    *,
    running: bool = True,
    case_folders: bool = True,
) -> AsyncIterator[SpecialistApp]:
    """Give a specialist over the database at *url*; its workers run until the block ends."""
    entry = entry or logs_entry()
    with TemporaryDirectory() as folder:
        async with edges_to(url, f"specialist.{entry.name}", "specialist") as edges:
            store = ArtifactStore(Path(folder), "caseops")
            place = Workplace(store, opener(), limits, case_folders)
            app = SpecialistApp(entry, edges, place)
            stop = asyncio.Event()
            task = asyncio.create_task(app.run(stop)) if running else None
            try:
                yield app
            finally:
                stop.set()
                if task is not None:
                    await task


async def recorded(url: str, *types: type[Payload]) -> list[Payload]:
    """Return the recorded facts in order, only those of *types* if any are given."""
    facts = [read(envelope) for envelope in await log_of(url)]
    return [fact for fact in facts if not types or isinstance(fact, types)]


async def names(url: str) -> list[str]:
    """Return the class names of the recorded facts, in order."""
    return [type(fact).__name__ for fact in await recorded(url)]
