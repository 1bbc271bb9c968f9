"""From an analyst's conclusion to the result that is submitted. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from consumers.specialists.capabilities import CatalogueEntry
from consumers.specialists.questions import Claim as Found
from consumers.specialists.questions import Conclusion, Finding
from event_schemas.delegations import ExecuteDelegation
from event_schemas.payload import Json, canonical
from event_schemas.results import Claim, Evidence, Result, ResultSubmitted, Usage

ACCESS_DENIED = "ACCESS_DENIED"


@dataclass(frozen=True, slots=True)
class Gathered:
    """What an investigation read: findings, evidence, calls refused for the budget, use."""

    findings: tuple[Finding, ...]
    evidence: tuple[Evidence, ...]
    over_budget: tuple[str, ...]
    usage: Usage


def result_of(
    conclusion: Conclusion, gathered: Gathered, task_id: str, entry: CatalogueEntry
) -> Result:
    """Return the strict result; what the budget or a missing right left out is named in it."""
    status, code = conclusion.status, conclusion.error_code
    missing = [*conclusion.missing_evidence, *gathered.over_budget]
    denied = _denied(gathered.findings)
    if gathered.over_budget and status in {"completed", "no_data"}:
        status = "partial"  # BUD-02
    if denied and status == "failed":
        status, code = "blocked", ACCESS_DENIED  # DEL-09
        missing += [name for name in denied if name not in missing]
    return Result(
        task_id=task_id,
        agent_id=entry.agent_id,
        status=status,
        summary=conclusion.summary,
        claims=tuple(
            _claim(each, f"claim-{entry.short}-{number}")
            for number, each in enumerate(conclusion.claims, start=1)
        ),
        evidence=gathered.evidence,
        artifacts=_artifacts(gathered.evidence),
        missing_evidence=tuple(missing),
        warnings=conclusion.warnings,
        recommended_next=conclusion.recommended_next or None,
        error_code=code,
        usage=gathered.usage,
    )


def _denied(findings: Sequence[Finding]) -> list[str]:
    """Return what access is missing when nothing else stood in the way of any answer."""
    if not findings or any(ACCESS_DENIED not in (each.error or "") for each in findings):
        return []
    return [f"access: {each.tool}" for each in findings]


def _artifacts(evidence: Sequence[Evidence]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.artifact_uri for each in evidence))


def _claim(found: Found, claim_id: str) -> Claim:
    return Claim(
        claim_id=claim_id,
        key=found.key,
        value=found.value,
        statement=found.statement,
        confidence=found.confidence,
        evidence_refs=found.evidence_refs,
        subject=found.subject,
        inference=found.inference,
    )


def failed(
    order: ExecuteDelegation, entry: CatalogueEntry, code: str, summary: str
) -> Result:
    """Return the result of an investigation that ended in *code*; it tells no internals."""
    return Result(
        task_id=order.task_id,
        agent_id=entry.agent_id,
        status="failed",
        summary=summary,
        claims=(),
        error_code=code,
    )


def submitted(order: ExecuteDelegation, attempt: int, document: Json) -> ResultSubmitted:
    """Return the fact that *document* was submitted, with its hash."""
    return ResultSubmitted(
        task_id=order.task_id,
        step_id=order.delegation.step_id,
        plan_version=order.delegation.plan_version,
        attempt=attempt,
        content_hash=sha256(canonical(document)).hexdigest(),
        result=document,
    )
