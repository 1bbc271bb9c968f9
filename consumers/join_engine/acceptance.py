"""Whether a result may enter the join: fixed checks in a fixed order. Pure (JOIN-01, JOIN-06)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from pydantic import ValidationError

from consumers.join_engine.state import JoinState
from event_schemas.joins import Expected
from event_schemas.payload import canonical
from event_schemas.results import Evidence, Result, ResultSubmitted

Digests = Mapping[str, str | None]
ARTIFACT_SCHEME = "artifact://"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first check that failed, its stable reason, and a word for people."""

    check: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Case:
    """Everything the checks look at; *digests*: content hash -> hash of the bytes found."""

    result: Result
    expected: Expected
    tenant: str
    digests: Digests
    known_evidence: frozenset[str]
    strict_prefixes: bool


def parse(submitted: ResultSubmitted) -> Result | Refusal:
    """Return the strict form of a submitted result, or why it has none."""
    if sha256(canonical(submitted.result)).hexdigest() != submitted.content_hash:
        return Refusal("hash", "CONTENT_HASH_MISMATCH", "the result is not what was hashed")
    try:
        return Result.model_validate_json(canonical(submitted.result))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "result"
        return Refusal("schema", "SCHEMA_INVALID", f"{where}: {first['msg']}")


def reason_to_reject(case: Case) -> Refusal | None:
    """Return the first failing check, None when the result may enter."""
    for check in _CHECKS:
        refusal = check(case)
        if refusal is not None:
            return refusal
    return None


def known_evidence(state: JoinState) -> frozenset[str]:
    """Return the evidence ids of results in the report so far, which others may cite."""
    return frozenset(
        evidence.evidence_id
        for _, _, result in state.answers()
        for evidence in result.evidence
    )


def _right_specialist(case: Case) -> Refusal | None:
    result, expected = case.result, case.expected
    if result.task_id != expected.task_id:
        return Refusal("task", "TASK_MISMATCH", f"the result names task {result.task_id}")
    if result.agent_id != expected.agent_id:
        detail = f"{result.agent_id} answered for {expected.agent_id}"
        return Refusal("specialist", "SPECIALIST_MISMATCH", detail)
    return None


def _usable_status(case: Case) -> Refusal | None:
    if case.result.status in {"failed", "blocked"}:
        code = case.result.error_code or case.result.status.upper()
        return Refusal("status", code, case.result.summary[:500])
    return None


def _claims_are_bound(case: Case) -> Refusal | None:
    own = {evidence.evidence_id for evidence in case.result.evidence}
    for claim in case.result.claims:
        for reference in claim.evidence_refs:
            if reference not in own and reference not in case.known_evidence:
                detail = f"{claim.claim_id} cites {reference}, which is nobody's evidence"
                return Refusal("claims", "CLAIM_WITHOUT_EVIDENCE", detail)
    return None


def _evidence_in_bounds(case: Case) -> Refusal | None:
    for evidence in case.result.evidence:
        refusal = _out_of_bounds(evidence, case)
        if refusal is not None:
            return refusal
    return None


def _out_of_bounds(evidence: Evidence, case: Case) -> Refusal | None:
    expected, name = case.expected, evidence.evidence_id
    allowed = set(expected.services)
    start, end = evidence.scope.time_range
    if evidence.scope.tenant != case.tenant:
        return Refusal("evidence", "EVIDENCE_FOREIGN_TENANT", name)
    if not evidence.artifact_uri.startswith(ARTIFACT_SCHEME):
        return Refusal(
            "evidence", "EVIDENCE_NOT_FROZEN", f"{name}: {evidence.artifact_uri}"
        )
    if evidence.kind not in expected.evidence_kinds:
        return Refusal("evidence", "EVIDENCE_OUT_OF_BOUNDARY", f"{name}: {evidence.kind}")
    if "*" not in allowed and not set(evidence.scope.services) <= allowed:
        return Refusal(
            "evidence", "EVIDENCE_SCOPE", f"{name}: service outside the delegation"
        )
    if start > end or start < expected.scope_start or end > expected.scope_end:
        return Refusal("evidence", "EVIDENCE_SCOPE", f"{name}: time outside the delegation")
    prefixes = expected.evidence_prefixes
    if case.strict_prefixes and not evidence.source.startswith(prefixes):
        return Refusal("evidence", "EVIDENCE_OUT_OF_BOUNDARY", f"{name}: {evidence.source}")
    return None


def _artifacts_are_intact(case: Case) -> Refusal | None:
    for evidence in case.result.evidence:
        found = case.digests.get(evidence.content_hash)
        if found is None:
            return Refusal("artifact", "ARTIFACT_MISSING", evidence.artifact_uri)
        if (
            found != evidence.content_hash
            or evidence.content_hash not in evidence.artifact_uri
        ):
            return Refusal("artifact", "ARTIFACT_HASH_MISMATCH", evidence.artifact_uri)
    return None


_CHECKS: tuple[Callable[[Case], Refusal | None], ...] = (
    _right_specialist,
    _usable_status,
    _claims_are_bound,
    _evidence_in_bounds,
    _artifacts_are_intact,
)
