"""How the analyses word what they found: claims with stable ids, gaps, an honest status; pure."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from consumers.specialists.questions import (
    Candidate,
    Claim,
    Conclusion,
    Finding,
    Status,
)
from event_schemas.payload import canonical

_KEPT = 10
# The published contract keeps a statement to a line; reasons stand in the candidates.
_STATEMENT = 200
# Below this a suspicion is shown as a candidate only, never as the cause.
STRONG = 0.8


@dataclass(frozen=True, slots=True)
class Saying:
    """What a claim says, before it has its id and its evidence."""

    key: str
    value: JsonValue
    statement: str
    confidence: float
    subject: str | None = None
    inference: bool = False


@dataclass(slots=True)
class Draft:
    """A conclusion in the making: claims, gaps and warnings of one specialist."""

    prefix: str
    claims: list[Claim] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, saying: Saying, refs: Sequence[str]) -> None:
        """Add a claim; its id depends on what it says, not on how it is worded."""
        body = canonical([saying.key, saying.subject, saying.value])
        self.claims.append(
            Claim(
                claim_id=f"claim-{self.prefix}-{hashlib.sha256(body).hexdigest()[:8]}",
                key=saying.key,
                value=saying.value,
                statement=_short(saying.statement),
                confidence=round(saying.confidence, 2),
                evidence_refs=tuple(dict.fromkeys(refs)),
                subject=saying.subject,
                inference=saying.inference,
            )
        )

    def add_candidates(
        self, specialist: str, ranked: Sequence[Candidate], refs: Sequence[str]
    ) -> None:
        """Add the *ranked* suspicions as one claim, when there are any."""
        if not ranked or not refs:
            return
        first = ranked[0]
        self.add(
            Saying(
                f"cause_candidates.{specialist}",
                [each.model_dump(mode="json", exclude_none=True) for each in ranked],
                f"{len(ranked)} suspected cause(s), first {first.service}: {first.why}",
                confidence=first.score,
                subject=first.service,
                inference=True,
            ),
            refs,
        )

    def conclude(self, findings: Sequence[Finding], recommended_next: str) -> Conclusion:
        """Return the conclusion, its status decided by what could be read and what was found."""
        broken = [each for each in findings if each.error and code_of(each) != "NOT_KEPT"]
        status = self._status(findings, broken)
        if status == "partial" and not self.missing:
            self.missing += [f"{each.tool}: {code_of(each)}" for each in broken]
        return Conclusion(
            status=status,
            summary=self._summary(status),
            claims=tuple(self.claims),
            missing_evidence=tuple(dict.fromkeys(self.missing)),
            warnings=tuple(dict.fromkeys(self.warnings)),
            recommended_next=recommended_next,
            error_code=code_of(broken[0]) if status in ("failed", "blocked") else None,
        )

    def _status(self, findings: Sequence[Finding], broken: Sequence[Finding]) -> Status:
        if broken and len(broken) == len(findings):
            return "failed"
        if broken or self.missing:
            return "partial"
        return "completed" if self.claims else "no_data"

    def _summary(self, status: Status) -> str:
        said = [claim.statement for claim in self.claims[:4]]
        return "; ".join(said) if said else f"nothing found ({status})"


def code_of(finding: Finding) -> str:
    """Return the error code of a failed *finding*: the first word in capitals of its error."""
    words = (finding.error or "").split()
    codes = [word for word in words if word.isupper() and "_" in word]
    return codes[0] if codes else "UPSTREAM_UNAVAILABLE"


def answered(findings: Iterable[Finding], tool: str) -> list[Finding]:
    """Return the findings of *tool* that brought content."""
    return [
        each
        for each in findings
        if each.tool == tool and not each.error and each.content is not None
    ]


def ranked_candidates(candidates: Iterable[Candidate], since: datetime) -> list[Candidate]:
    """Return the best candidate of each service and type, best first, at most ten.

    One that was seen at no certain time is taken to have begun with the trouble, *since*.
    """
    best: dict[tuple[str, str], Candidate] = {}
    onset = since.isoformat().replace("+00:00", "Z")
    for found in candidates:
        each = found if found.onset else found.model_copy(update={"onset": onset})
        known = best.get((each.service, each.type))
        if known is None or each.score > known.score:
            best[(each.service, each.type)] = each
    ranked = sorted(best.values(), key=lambda each: (-each.score, each.service, each.type))
    return ranked[:_KEPT]


def _short(statement: str) -> str:
    return statement if len(statement) <= _STATEMENT else f"{statement[: _STATEMENT - 1]}…"
