"""Specialists whose answers a test writes: real orders, leases and results, no analysis."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from consumers.specialists.capabilities import Analyst, CatalogueEntry
from consumers.specialists.catalogue import CATALOGUE
from consumers.specialists.questions import Question
from tests.support.store import rows

Answer = Callable[["Script", Question], Any]
WINDOW = ("2026-07-23T01:45:00Z", "2026-07-23T02:10:00Z")


@dataclass
class Script:
    """What each specialist answers in one run; a gate holds its answer back until opened."""

    answers: dict[str, Answer]
    gates: dict[str, asyncio.Event] = field(default_factory=dict)

    def hold(self, *names: str) -> None:
        """Let the answers of *names* wait until `release`."""
        for name in names:
            self.gates[name] = asyncio.Event()

    def release(self, *names: str) -> None:
        """Let held answers go."""
        for name in names:
            self.gates[name].set()


@dataclass
class Company:
    """Scripted specialists; a run's script is found by the label `script` of its alert."""

    scripts: dict[str, Script] = field(default_factory=dict)

    def catalogue(self) -> dict[str, CatalogueEntry]:
        """Return the real catalogue with scripted analysts."""
        return {
            entry.name: replace(entry, analyst=self._analyst(entry.name))
            for entry in CATALOGUE
        }

    def _analyst(self, name: str) -> Analyst:
        async def next_calls(question: Question, findings: Any) -> tuple[()]:
            gate = self._script(question).gates.get(name)
            if gate is not None:
                await gate.wait()
            return ()

        def conclude(question: Question, findings: Any) -> Any:
            script = self._script(question)
            return script.answers[name](script, question)

        return Analyst(next_calls, conclude)

    def _script(self, question: Question) -> Script:
        labels: Any = question.signals[0]["labels"]
        return self.scripts[labels["script"]]


def artifact(text: str) -> tuple[str, bytes]:
    """Return hash and bytes of a small JSON artifact."""
    data = json.dumps({"found": text}).encode()
    return sha256(data).hexdigest(), data


async def store_artifact(url: str, text: str, tenant: str = "prod-cn") -> str:
    """Keep an artifact as a specialist would, and return its hash."""
    sha, data = artifact(text)
    await rows(
        url,
        "insert into artifacts (sha256, size, media_type, tenant, bytes)"
        " values (%s, %s, 'application/json', %s, %s) on conflict do nothing",
        sha,
        len(data),
        tenant,
        data,
    )
    return sha


def evidence(name: str, sha: str, kind: str, *supports: str) -> dict[str, Any]:
    """Return evidence over the artifact *sha*."""
    return {
        "evidence_id": name,
        "kind": kind,
        "source": "tests",
        "query_fingerprint": sha256(name.encode()).hexdigest(),
        "scope": {
            "tenant": "prod-cn",
            "services": ["payment-api"],
            "time_range": list(WINDOW),
        },
        "observed_at": "2026-07-23T02:02:30Z",
        "artifact_uri": f"artifact://sha256/{sha}",
        "content_hash": sha,
        "quality": "passed",
        "tool_call_id": f"call-{name}",
        "trace_id": "0" * 32,
        "supports_types": list(supports),
    }


def claim(name: str, key: str, value: Any, statement: str, *refs: str) -> dict[str, Any]:
    """Return a claim that rests on *refs*."""
    return {
        "claim_id": name,
        "key": key,
        "value": value,
        "statement": statement,
        "confidence": 0.84,
        "evidence_refs": list(refs),
        "subject": "payment-api" if key == "impact" else None,
    }


def result(question: Question, agent: str, **fields: Any) -> dict[str, Any]:
    """Return a strict result document; *fields* replace or add."""
    return {
        "task_id": question.task_id,
        "agent_id": agent,
        "status": "completed",
        "summary": "as scripted",
        "claims": [],
        "evidence": [],
        **fields,
    }


def at(text: str) -> datetime:
    """Return an instant from its text."""
    return datetime.fromisoformat(text).astimezone(UTC)
