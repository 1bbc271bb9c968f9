"""One delegation, worked on: gather under the grant, then conclude; no transaction is open."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from time import monotonic
from typing import Any

import structlog

from consumers.specialists.finishing import Finished
from consumers.specialists.grants import named_services
from consumers.specialists.questions import Budget, Conclusion, Finding, Question, Window
from consumers.specialists.reading import Reader
from consumers.specialists.results import Gathered, failed, result_of, submitted
from event_schemas.delegations import Delegation
from event_schemas.payload import Json
from event_schemas.results import Usage

MOST_REFUSALS = 16
ANALYST_FAILED = "ANALYST_FAILED"


@dataclass(slots=True)
class Investigation:
    """The work under one lease."""

    reader: Reader
    findings: list[Finding] = field(default_factory=list)

    async def run(self) -> Finished:
        """Return what to submit; an analyst that fails makes a failed result."""
        item, entry = self.reader.item, self.reader.around.entry
        begun = monotonic()
        try:
            question = question_of(item.order.delegation)
            await self._gather(question)
            answer = await _ask(entry.analyst.conclude, question, tuple(self.findings))
            document = self._document(answer, monotonic() - begun)
            fact = submitted(item.order, item.attempt, document)
        except Exception as error:  # noqa: BLE001 - whatever an analyst does is its own failure
            structlog.get_logger().warning(
                "analyst_failed",
                specialist=entry.name,
                task_id=item.task_id,
                error=type(error).__name__,
            )
            result = failed(item.order, entry, ANALYST_FAILED, "the analyst failed")
            fact = submitted(item.order, item.attempt, result.model_dump(mode="json"))
        notes = self.reader.notes
        return Finished(item, (*notes.facts, fact), tuple(notes.artifacts))

    async def _gather(self, question: Question) -> None:
        """Read what the analyst wants, until it has enough or its budget is used up."""
        ask = self.reader.around.entry.analyst.next_calls
        while calls := await _ask(ask, question, tuple(self.findings)):
            for call in calls:
                self.findings.append(await self.reader.read(call))
                notes = self.reader.notes
                if notes.over_budget or notes.refusals >= MOST_REFUSALS:
                    return

    def _document(self, answer: object, seconds: float) -> Json:
        if not isinstance(answer, Conclusion):
            return answer
        reader = self.reader
        gathered = Gathered(
            findings=tuple(self.findings),
            evidence=tuple(reader.notes.evidence),
            over_budget=tuple(reader.notes.over_budget),
            usage=Usage(
                tool_calls=reader.calls,
                rows_scanned=reader.rows,
                seconds=round(seconds, 3),
            ),
        )
        result = result_of(answer, gathered, reader.item.task_id, reader.around.entry)
        return result.model_dump(mode="json")


def question_of(delegation: Delegation) -> Question:
    """Return the question as the analyst gets it."""
    budget = delegation.budget
    return Question(
        task_id=delegation.delegation_task_id,
        goal=delegation.goal,
        services=named_services(delegation),
        window=Window(*delegation.scope.time_range),
        signals=tuple(signal.model_dump(mode="json") for signal in delegation.signals),
        inputs=delegation.inputs if isinstance(delegation.inputs, dict) else {},
        budget=Budget(
            max_tool_calls=budget.max_tool_calls, max_rows_scanned=budget.max_rows_scanned
        ),
    )


async def _ask(function: Callable[..., Any], *values: object) -> Any:  # noqa: ANN401
    """Return the analyst's answer; a plain function thinks in a thread, beside the heartbeats."""
    if iscoroutinefunction(function):
        return await function(*values)
    return await asyncio.to_thread(function, *values)
