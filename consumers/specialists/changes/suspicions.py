"""From change records and cluster state to suspected causes; pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from consumers.specialists.changes.answers import Change, Output
from consumers.specialists.changes.cluster_kinds import about, troubles
from consumers.specialists.questions import Candidate

CLOSE = timedelta(minutes=10)
EVENT = "event"
COINCIDENCE = 0.5
_DEPLOY_WORDS = ("deploy", "release", "rollout", "image", "stack", "version", "build")
_ACTIONS = (
    "_update",
    "_updated",
    "_deploy",
    "_deployed",
    "_publish",
    "_published",
    "_edit",
)


def closest(changes: Sequence[Change], alarm: datetime) -> Change | None:
    """Return the last of *changes* in the minutes before the *alarm*, None if none is."""
    close = [each for each in changes if alarm - CLOSE <= each.ts <= alarm]
    return max(close, key=lambda each: each.ts, default=None)


def change_type(change: Change) -> str:
    """Return the kind of cause that *change* would be, without the verb of its record."""
    kind = (change.kind or change.action or "unknown").lower().replace("-", "_")
    for action in _ACTIONS:
        kind = kind.removesuffix(action)
    return kind if kind.endswith("_change") else f"{kind}_change"


def coincidence(change: Change) -> Candidate:
    """Return the suspicion that *change* raises by its time alone."""
    words = f"{change.kind} {change.action}".lower()
    deployed = any(word in words for word in _DEPLOY_WORDS)
    return Candidate(
        service=change.service,
        category="deploy" if deployed else "config",
        type=change_type(change),
        score=COINCIDENCE,
        modality="changes",
        why=f"{change.kind} of {change.target} close before the onset",
        onset=told_time(change),
        change_ref={"target": change.target, "ts": told_time(change)},
    )


def suspects(services: Sequence[str], outputs: Sequence[Output]) -> Iterator[Candidate]:
    """Yield what a cluster's *outputs* say is wrong with each of *services*."""
    for service in services:
        text = about(service, outputs)
        if service not in text:
            continue
        for trouble in troubles(text):
            yield Candidate(
                service=service,
                category=trouble.category,
                type=trouble.type,
                score=trouble.score,
                modality="artifacts",
                why=trouble.words,
            )


def told_time(change: Change) -> str:
    """Return when *change* was recorded, as it is told."""
    return change.ts.isoformat().replace("+00:00", "Z")
