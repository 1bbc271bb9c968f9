"""Log lines to templates: variable parts masked, lines counted on both sides; pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from consumers.specialists.logs.answers import Template
from consumers.specialists.onset import Split
from consumers.specialists.telemetry import LogLine

_VARIABLE = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|\b[0-9a-fA-F]{12,}\b"
    r"|\d+(?:[.:]\d+)*"
)
_LENGTH = 160
_KEPT = 150
_LOUD = frozenset({"ERROR", "FATAL", "CRITICAL", "SEVERE", "WARN", "WARNING", "UNKNOWN"})
ERRORS = frozenset({"ERROR", "FATAL", "CRITICAL", "SEVERE"})


def masked(message: str) -> str:
    """Return the first line of *message* with ids, addresses and numbers masked."""
    return _VARIABLE.sub("#", message.split("\n", 1)[0][:400])[:_LENGTH]


def statement(line: LogLine) -> str:
    """Return which statement of the code wrote *line*: file and line if known, else its text."""
    place = line.logger if "#" in line.logger else masked(line.message)
    return f"{place}|{line.level}"


def is_baseline(line: LogLine, sides: Split) -> bool:
    """Return whether *line* shows how things are when nothing is wrong."""
    return line.phase == "reference" or line.ts < sides.baseline_until


def is_abnormal(line: LogLine, sides: Split) -> bool:
    """Return whether *line* was written while things were wrong."""
    return line.phase == "window" and line.ts >= sides.abnormal_from


@dataclass(slots=True)
class _Count:
    first: LogLine
    baseline: int = 0
    abnormal: int = 0
    total: int = 0


def templates(lines: Iterable[LogLine], sides: Split) -> tuple[Template, ...]:
    """Return the templates of *lines* that are loud or new, most telling first."""
    counts: dict[tuple[str, str, str], _Count] = {}
    for line in lines:
        key = (line.service, line.level, masked(line.message))
        count = counts.setdefault(key, _Count(line))
        if count.first.phase == "reference" and line.phase == "window":
            count.first = line
        count.total += 1
        count.baseline += is_baseline(line, sides)
        count.abnormal += is_abnormal(line, sides)
    telling = [
        (key, count)
        for key, count in counts.items()
        if key[1] in _LOUD or not count.baseline
    ]
    telling.sort(key=_weight)
    return tuple(_template(key, count) for key, count in telling[:_KEPT])


def _weight(entry: tuple[tuple[str, str, str], _Count]) -> tuple[int, int, int, str]:
    (service, level, text), count = entry
    return (level not in _LOUD, min(count.baseline, 1), -count.total, f"{service} {text}")


def _template(key: tuple[str, str, str], count: _Count) -> Template:
    service, level, text = key
    return Template(
        service=service,
        level=level,
        template=text,
        baseline=count.baseline,
        abnormal=count.abnormal,
        total=count.total,
        first_seen=count.first.ts,
        example=count.first.message[:300],
    )
