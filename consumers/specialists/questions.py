"""What a specialist is asked and what it answers: plain values between runner and analysis."""

from datetime import datetime
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

Status = Literal["completed", "partial", "no_data", "blocked", "failed"]


class Window(NamedTuple):
    """A span of time, both ends included."""

    start: datetime
    end: datetime


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False, extra="forbid")


class Budget(_Value):
    """How much a specialist may spend on one question."""

    max_tool_calls: int = 8
    max_rows_scanned: int = 500_000


class Question(_Value):
    """One bounded question: what to find out, about which services, in which window."""

    task_id: str
    goal: str
    services: tuple[str, ...]
    window: Window
    signals: tuple[dict[str, JsonValue], ...] = ()
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    budget: Budget = Budget()


class ToolCall(_Value):
    """The next read a specialist wants, named as the catalogue names it."""

    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class Finding(_Value):
    """What one tool call brought back, or the error that it ended in."""

    evidence_id: str
    kind: str
    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    content: dict[str, JsonValue] | None = None
    error: str | None = None
    retryable: bool = False
    supports_types: tuple[str, ...] = ()
    source: str = ""


class Claim(_Value):
    """A statement that can be checked, and the evidence it rests on."""

    claim_id: str
    key: str
    value: JsonValue
    statement: str
    confidence: float = Field(ge=0, le=1)
    evidence_refs: tuple[str, ...] = Field(min_length=1)
    subject: str | None = None
    inference: bool = False


class Conclusion(_Value):
    """The answer to a question, gaps and doubts included."""

    status: Status
    summary: str
    claims: tuple[Claim, ...] = ()
    missing_evidence: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    recommended_next: str = ""
    error_code: str | None = None

    # RES-06
    @model_validator(mode="after")
    def _is_honest(self) -> "Conclusion":
        if self.status == "failed" and not self.error_code:
            raise ValueError("a failed conclusion names its error code")
        if self.status == "completed" and not self.claims:
            raise ValueError("a completed conclusion has at least one claim")
        return self


class Candidate(_Value):
    """One suspected cause inside a `cause_candidates.<specialist>` claim."""

    service: str
    category: str
    type: str
    score: float = Field(ge=0, le=1)
    modality: str
    why: str
    onset: str | None = None
    change_ref: dict[str, str] | None = None
