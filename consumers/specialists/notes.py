"""What is noted about the reads of one task: facts, frozen bytes, evidence."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from consumers.specialists.capabilities import Tool
from consumers.specialists.evidence import Reading, evidence_of, fingerprint
from consumers.specialists.grants import ALLOWED, BUDGET, Denial
from consumers.specialists.measures import TOOL_SECONDS
from consumers.specialists.questions import ToolCall
from consumers.specialists.toolbox import Answer
from consumers.specialists.work_items import WorkItem
from event_schemas.artifacts import ArtifactStored
from event_schemas.payload import Payload
from event_schemas.results import Evidence
from event_schemas.tools import PolicyDecided, ToolCalled, ToolDenied
from infra.artifacts import Frozen

NOTHING_KEPT = "NOT_KEPT"


@dataclass(frozen=True, slots=True)
class Try:
    """One try of one call."""

    call: ToolCall
    tool: Tool
    call_id: str
    number: int
    started: datetime
    seconds: float


@dataclass(slots=True)
class Notes:
    """The notes of one task, in the order in which things happened."""

    item: WorkItem
    producer: str
    facts: list[Payload] = field(default_factory=list)
    artifacts: list[Frozen] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    over_budget: list[str] = field(default_factory=list)
    refusals: int = 0
    _numbers: Counter[str] = field(default_factory=Counter)

    def decided(self, call: ToolCall, call_id: str, denial: Denial | None) -> None:
        """Note what the grant said about *call*."""
        self.facts.append(
            PolicyDecided(
                task_id=self.item.task_id,
                tool_call_id=call_id,
                tool=call.tool,
                verdict="deny" if denial else "allow",
                code=denial.code if denial else ALLOWED,
            )
        )

    def denied(self, call: ToolCall, call_id: str, denial: Denial) -> None:
        """Note that *call* was refused before it touched anything."""
        self.refusals += 1
        if denial.code in BUDGET:
            self.over_budget.append(f"{call.tool}: {denial.code}")
        self.facts.append(
            ToolDenied(
                task_id=self.item.task_id,
                tool_call_id=call_id,
                tool=call.tool,
                arguments=call.arguments,
                query_fingerprint=fingerprint(call),
                code=denial.code,
                detail=denial.detail,
            )
        )

    def called(self, this: Try, answer: Answer, sha: str | None = None) -> None:
        """Note one try and how it ended."""
        outcome = _outcome(answer)
        TOOL_SECONDS.labels(this.tool.name, outcome).observe(this.seconds)
        self.facts.append(
            ToolCalled(
                task_id=self.item.task_id,
                tool_call_id=this.call_id,
                tool=this.call.tool,
                arguments=this.call.arguments,
                query_fingerprint=fingerprint(this.call),
                outcome=outcome,
                error_code=answer.code,
                try_number=this.number,
                started_at=this.started,
                milliseconds=round(this.seconds * 1000, 3),
                result_sha256=sha,
                rows_scanned=answer.rows,
            )
        )

    def stored(self, this: Try, frozen: Frozen, rows: int) -> Evidence:
        """Note the frozen answer of a try; return the evidence that it makes."""
        self.artifacts.append(frozen)
        self.facts.append(
            ArtifactStored(
                artifact_uri=frozen.uri,
                sha256=frozen.sha256,
                size=frozen.size,
                media_type=frozen.media_type,
                schema_ref=this.tool.name,
                producer=self.producer,
                tool_call_id=this.call_id,
            )
        )
        prefix = this.tool.prefix
        self._numbers[prefix] += 1
        reading = Reading(
            this.call,
            this.tool,
            this.call_id,
            f"ev-{prefix}-{self._numbers[prefix]}",
            this.started,
            frozen.sha256,
            frozen.uri,
            rows,
        )
        delegation = self.item.order.delegation
        self.evidence.append(evidence_of(reading, delegation, self.item.tenant))
        return self.evidence[-1]


def _outcome(answer: Answer) -> Literal["ok", "no_data", "error"]:
    if answer.code is not None:
        return "no_data" if answer.code == NOTHING_KEPT else "error"
    return "ok" if answer.rows else "no_data"
