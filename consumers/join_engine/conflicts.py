"""Claims that cannot all be true: found, kept, never averaged. Pure (CONF-01, CONF-02)."""

from collections.abc import Iterable

from event_schemas.joins import Conflict, ConflictClaim
from event_schemas.payload import canonical
from event_schemas.results import Claim, Result

Answer = tuple[str, str, Result]
"""Step id, specialist and result of one accepted answer."""

NEXT_QUERY = {"primary_cause": "compare_first_occurrence_and_dependency_path"}


def find(accepted: Iterable[Answer]) -> tuple[Conflict, ...]:
    """Return one conflict per claim key with different values, in a fixed order."""
    by_key: dict[str, list[tuple[str, Claim]]] = {}
    for _, specialist, result in sorted(accepted, key=lambda each: each[0]):
        for claim in result.claims:
            by_key.setdefault(claim.key, []).append((specialist, claim))
    return tuple(
        _conflict(key, sides)
        for key, sides in sorted(by_key.items())
        if len({_position(claim) for _, claim in sides}) > 1
    )


def _position(claim: Claim) -> bytes:
    return canonical([claim.value, claim.subject])


def _conflict(key: str, sides: list[tuple[str, Claim]]) -> Conflict:
    return Conflict(
        topic=key,
        claims=tuple(
            ConflictClaim(
                claim_id=claim.claim_id,
                value=claim.value,
                subject=claim.subject,
                specialist=specialist,
                evidence_refs=claim.evidence_refs,
            )
            for specialist, claim in sides
        ),
        next_query=NEXT_QUERY.get(key, f"compare_evidence_of_{key}"),
    )
