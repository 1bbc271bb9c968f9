"""One read at a time: weighed against the grant, tried within bounds, frozen as evidence."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from random import random
from time import perf_counter
from typing import Protocol

from consumers.specialists.capabilities import CatalogueEntry, Limits, Tool
from consumers.specialists.evidence import frozen_form
from consumers.specialists.grants import (
    TOOL_NOT_ALLOWED,
    Denial,
    Spent,
    grant_for,
    reason_to_deny,
)
from consumers.specialists.notes import Notes, Try
from consumers.specialists.questions import Finding, ToolCall
from consumers.specialists.tool_grant import ToolGrant
from consumers.specialists.toolbox import RETRYABLE, Answer
from consumers.specialists.work_items import WorkItem
from event_schemas.ids import derived_id
from event_schemas.payload import Json
from infra.artifacts import freeze
from infra.errors import WrongInput

REFUSED_BY_SERVER = frozenset({"SCOPE_EXCEEDED", "TOOL_NOT_EXPOSED"})


class Tools(Protocol):
    """Calls tools; an error comes back as an answer with a code."""

    async def call(self, tool: str, arguments: dict[str, Json], grant: ToolGrant) -> Answer:
        """Return what one try of *tool* brings."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a reader works with; *case_folders* says whether an order may name one."""

    entry: CatalogueEntry
    tools: Tools
    now: Callable[[], Awaitable[datetime]]
    limits: Limits
    case_folders: bool


@dataclass(slots=True)
class Reader:
    """The reads of one task; it counts what they cost (BUD-02)."""

    item: WorkItem
    around: Surroundings
    notes: Notes = field(init=False)
    calls: int = 0
    rows: int = 0
    _asked: int = 0

    def __post_init__(self) -> None:
        """Start with nothing noted."""
        self.notes = Notes(self.item, self.around.entry.agent_id)

    async def read(self, call: ToolCall) -> Finding:
        """Return what *call* brought; a refusal or an error is a finding as well."""
        self._asked += 1
        call_id = derived_id("call", self.item.task_id, self.item.attempt, self._asked)
        delegation, entry = self.item.order.delegation, self.around.entry
        denial = reason_to_deny(call, delegation, entry, Spent(self.calls, self.rows))
        self.notes.decided(call, call_id, denial)
        tool = entry.tool(call.tool)
        if denial is not None or tool is None:
            denial = denial or Denial(TOOL_NOT_ALLOWED, call.tool)
            return self._denied(call, call_id, denial)
        self.calls += 1
        return await self._call(call, call_id, tool)

    async def _call(self, call: ToolCall, call_id: str, tool: Tool) -> Finding:
        limits = self.around.limits
        for number in range(1, limits.tries + 1):
            this, answer = await self._try(call, call_id, tool, number=number)
            if answer.content is not None:
                return self._answered(this, answer)
            if answer.code in REFUSED_BY_SERVER:
                return self._denied(call, call_id, Denial(answer.code, answer.detail))
            self.notes.called(this, answer)
            if answer.code not in RETRYABLE or number == limits.tries:
                break
            jitter = 0.5 + random()  # noqa: S311 - jitter
            await asyncio.sleep(limits.pause * 2 ** (number - 1) * jitter)
        return _error(call, tool, answer.code or "", answer.detail)

    async def _try(
        self, call: ToolCall, call_id: str, tool: Tool, *, number: int
    ) -> tuple[Try, Answer]:
        order = self.item.order
        folder = order.case_folder if self.around.case_folders else None
        grant = grant_for(order.delegation, Spent(self.calls, self.rows), folder)
        started, begun = await self.around.now(), perf_counter()
        answer = await self.around.tools.call(call.tool, dict(call.arguments), grant)
        seconds = perf_counter() - begun
        return Try(call, tool, call_id, number, started, seconds), answer

    def _answered(self, this: Try, answer: Answer) -> Finding:
        content, data = frozen_form(answer.content or {})
        try:
            frozen = freeze(data, "application/json", self.item.tenant)
        except WrongInput as error:
            self.notes.called(this, Answer(code=error.code))
            return _error(this.call, this.tool, error.code, error.message)
        self.rows += answer.rows
        self.notes.called(this, answer, frozen.sha256)
        evidence = self.notes.stored(this, frozen, answer.rows)
        return Finding(
            evidence_id=evidence.evidence_id,
            kind=evidence.kind,
            tool=this.call.tool,
            arguments=this.call.arguments,
            content=content,
            supports_types=evidence.supports_types,
            source=evidence.source,
        )

    def _denied(self, call: ToolCall, call_id: str, denial: Denial) -> Finding:
        self.notes.denied(call, call_id, denial)
        tool = self.around.entry.tool(call.tool)
        return _error(call, tool, denial.code, denial.detail)


def _error(call: ToolCall, tool: Tool | None, code: str, detail: str) -> Finding:
    return Finding(
        evidence_id="",
        kind=tool.kind if tool else "",
        tool=call.tool,
        arguments=call.arguments,
        error=f"{code} {detail}".strip(),
        retryable=code in RETRYABLE,
        source=tool.source if tool else "",
    )
