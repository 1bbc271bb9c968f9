"""What a cluster says about a workload that does not run, by kind of trouble; pure."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from consumers.specialists.changes.answers import Output


class Trouble(NamedTuple):
    """A kind of trouble, how directly the words tell it, and the words."""

    category: str
    type: str
    score: float
    words: str


# Order matters: the most telling comes first. `{gpu}` style rules need all their patterns.
_KINDS: tuple[tuple[str, str, float, tuple[str, ...]], ...] = (
    ("resource", "container_oom_killed", 0.9, (r".*\bOOM ?Kill(ed|ing)\b.*",)),
    (
        "resource",
        "unschedulable_gpu_request",
        0.85,
        (r".*\b(Pending|FailedScheduling|Unschedulable)\b.*", r".*\bgpu\b.*"),
    ),
    (
        "config",
        "unschedulable_node_selector",
        0.85,
        (r".*(node\(s\) (had|didn't match).*(taint|selector|affinity)).*",),
    ),
    ("resource", "unschedulable_resources", 0.85, (r".*Insufficient (cpu|memory|pods).*",)),
    (
        "config",
        "image_pull_failure",
        0.88,
        (r".*(ErrImagePull|ImagePullBackOff|Failed to pull image|InvalidImageName).*",),
    ),
    (
        "config",
        "missing_config_reference",
        0.88,
        (
            r".*(CreateContainerConfigError|(configmap|secret)s? .{0,80}not found"
            r"|couldn't find key).*",
        ),
    ),
    (
        "config",
        "volume_mount_failure",
        0.85,
        (r".*(FailedMount|FailedAttachVolume|persistentvolumeclaim .{0,80}not found).*",),
    ),
    ("resource", "disk_pressure", 0.85, (r".*(DiskPressure +True|\bEvicted\b).*",)),
    (
        "config",
        "health_probe_failure",
        0.75,
        (r".*(Liveness|Readiness|Startup) probe failed.*",),
    ),
    (
        "code",
        "crash_loop",
        0.45,
        (r".*(CrashLoopBackOff|Back-off restarting|BackoffLimitExceeded).*",),
    ),
)
_COMPILED = tuple(
    (category, kind, score, tuple(re.compile(text, re.IGNORECASE) for text in patterns))
    for category, kind, score, patterns in _KINDS
)
_TABLE = re.compile(r"^NAME\s+\S+", re.MULTILINE)
_LENGTH = 200


def about(service: str, outputs: Sequence[Output]) -> str:
    """Return what *outputs* say about *service*: lists cut to its lines, the rest whole."""
    return "\n".join(
        text
        for each in outputs
        if (text := _lines(service, each.text) if _TABLE.search(each.text) else each.text)
    )


def _lines(service: str, text: str) -> str:
    return "\n".join(line for line in text.split("\n") if service in line)


def troubles(text: str) -> Iterator[Trouble]:
    """Yield the kinds of trouble that *text* tells of, the most telling first."""
    for category, kind, score, patterns in _COMPILED:
        found = [pattern.search(text) for pattern in patterns]
        words = [" ".join(each.group().split())[:_LENGTH] for each in found if each]
        if len(words) == len(patterns):
            yield Trouble(category, kind, score, "; ".join(words))
