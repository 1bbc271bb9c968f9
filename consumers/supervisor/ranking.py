"""Fuses the specialists' suspicions into ranked causes and a verdict; pure, sees claims only."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

VerdictName = Literal["root_cause", "inconclusive", "no_fault"]

CANDIDATES = "cause_candidates."
_ENOUGH = 0.5
_NOTHING = 0.1
_MOST = 10
# How a change of each category shows, by the symptom it brings.
_CHANGE_TYPES = {
    ("deploy", "latency"): "deployed_code_latency",
    ("deploy", "availability"): "deployed_code_error",
    ("config", "latency"): "config_latency_setting",
    ("config", "availability"): "config_error_setting",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """One suspected cause, with the claims that speak for it."""

    service: str
    category: str
    type: str
    score: float
    claim_ids: tuple[str, ...]
    onset: str | None = None
    change_ref: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all claims together amount to."""

    verdict: VerdictName
    causes: tuple[Cause, ...]
    confidence: float
    onset: str | None = None
    change_ref: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class _Voice:
    claim_id: str
    service: str
    category: str
    type: str
    score: float
    modality: str
    onset: str | None
    change_ref: Mapping[str, str] | None


def rank(claims: Sequence[Mapping[str, Any]]) -> Verdict:
    """Return the causes that *claims* point at, best first; too weak a case stays open."""
    claims = sorted(claims, key=lambda claim: str(claim.get("claim_id", "")))
    voices = [voice for claim in claims for voice in _voices(claim)]
    by_service: dict[str, list[_Voice]] = {}
    for voice in voices:
        if voice.service:
            by_service.setdefault(voice.service, []).append(voice)
    nameless = [voice for voice in voices if not voice.service]
    causes = [_cause(service, heard, claims) for service, heard in by_service.items()]
    causes.sort(key=lambda cause: (-cause.score, cause.service))
    if causes:
        causes[0] = _with_change(causes[0], nameless)
    return _verdict(tuple(causes[:_MOST]))


def _verdict(causes: tuple[Cause, ...]) -> Verdict:
    best = causes[0] if causes else None
    if best is None or best.score < _NOTHING:
        return Verdict("no_fault" if best else "inconclusive", causes, 0.1)
    if best.score < _ENOUGH:
        return Verdict("inconclusive", causes, round(best.score / 2, 2), best.onset)
    confidence = round(min(best.score, 0.95), 2)
    return Verdict("root_cause", causes, confidence, best.onset, best.change_ref)


def _voices(claim: Mapping[str, Any]) -> Iterable[_Voice]:
    if not str(claim.get("key", "")).startswith(CANDIDATES):
        return
    value = claim.get("value")
    entries = json.loads(value) if isinstance(value, str) else value
    for entry in entries or ():
        yield _Voice(
            claim_id=str(claim["claim_id"]),
            service=str(entry.get("service") or ""),
            category=str(entry["category"]),
            type=str(entry["type"]),
            score=float(entry["score"]),
            modality=str(entry.get("modality") or claim["key"]),
            onset=entry.get("onset"),
            change_ref=entry.get("change_ref"),
        )


def _cause(
    service: str, heard: Sequence[_Voice], claims: Sequence[Mapping[str, Any]]
) -> Cause:
    """Return the cause in *service*; independent kinds of data strengthen each other."""
    best = max(heard, key=lambda voice: voice.score)
    others = {
        voice.modality: max(each.score for each in heard if each.modality == voice.modality)
        for voice in heard
        if voice.modality != best.modality
    }
    doubt = 1 - best.score
    for score in others.values():
        doubt *= 1 - score / 2
    onsets = [voice.onset for voice in heard if voice.onset and voice.type == best.type]
    return Cause(
        service=service,
        category=best.category,
        type=best.type,
        score=round(1 - doubt, 4),
        claim_ids=_speaking(service, best.type, heard, claims),
        onset=min(onsets, default=None),
        change_ref=best.change_ref,
    )


def _speaking(
    service: str,
    cause_type: str,
    heard: Iterable[_Voice],
    claims: Iterable[Mapping[str, Any]],
) -> tuple[str, ...]:
    direct = [
        str(claim["claim_id"])
        for claim in claims
        if claim.get("key") == "primary_cause"
        and claim.get("subject") == service
        and claim.get("value") == cause_type
    ]
    return tuple(dict.fromkeys((*direct, *(voice.claim_id for voice in heard))))


def _with_change(cause: Cause, nameless: Sequence[_Voice]) -> Cause:
    """Return *cause* tied to a change that names no service, if only symptoms are known of it."""
    symptom = cause.type.partition("_")[0]
    change = max(nameless, key=lambda voice: voice.score, default=None)
    if change is None or cause.category not in ("service", "workload"):
        return cause
    symptom = "latency" if cause.category == "workload" else symptom
    return Cause(
        service=cause.service,
        category=change.category,
        type=_CHANGE_TYPES.get((change.category, symptom), change.type),
        score=cause.score,
        claim_ids=(*cause.claim_ids, change.claim_id),
        onset=change.onset or cause.onset,
        change_ref=change.change_ref,
    )
