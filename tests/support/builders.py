"""Events with sane values: payloads from the golden run of S1, envelopes as the log has them."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from event_schemas.envelope import Envelope
from event_schemas.ids import event_id
from event_schemas.payload import Payload
from event_schemas.registry import BY_PAYLOAD

GOLDEN = Path(__file__).parents[1] / "contract" / "golden"
RUN = "fce7ccdf-3556-556a-8245-1600b6729673"
CASE = "c09ddee1-a8be-5543-8113-664a5cd7abc0"
TASKS = {
    "logs": "task-log-01-fce7ccdf",
    "metrics": "task-metric-01-fce7ccdf",
    "changes": "task-sec-01-fce7ccdf",
}
BEGAN = datetime(2026, 7, 23, 2, 2, 5, tzinfo=UTC)

Fact = TypeVar("Fact", bound=Payload)
Event = tuple[Envelope, Payload]


def a(payload: type[Fact], **changes: Any) -> Fact:
    """Return a *payload* of the golden run with *changes* (as JSON values)."""
    name = BY_PAYLOAD[payload].name
    golden = json.loads((GOLDEN / f"{name}.json").read_text())["data"]
    return payload.model_validate({**golden, **changes}, strict=False)


def history(
    facts: Iterable[Payload], *, key: str = RUN, case: str = CASE, first: int = 1
) -> list[Event]:
    """Return *facts* as events of one log key, one second apart, with contiguous sequences."""
    streams: dict[str, int] = {}
    found = []
    for number, fact in enumerate(facts, first):
        entry = BY_PAYLOAD[type(fact)]
        subject = case if entry.stream == "case" else key
        stream = f"{entry.stream}/{subject}"
        streams[stream] = streams.get(stream, first - 1) + 1
        envelope = Envelope(
            id=event_id(f"{stream}/{entry.stream}", number),
            source=f"/caseops/{entry.writer}",
            type=entry.name,
            time=BEGAN + timedelta(seconds=number),
            data=fact.model_dump_json().encode(),
            subject=stream,
            dataschema=entry.dataschema,
            tenantid="prod-cn",
            runid=key,
            correlationid=key,
            partitionkey=key,
            sequence=number,
            streamversion=streams[stream],
        )
        found.append((envelope, fact))
    return found


def a_claim(number: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a claim that cites evidence *number*."""
    return {
        "claim_id": f"claim-{number}",
        "key": "primary_cause",
        "value": "connection_pool_exhaustion",
        "statement": "the pool was exhausted before payments failed",
        "confidence": 0.84,
        "evidence_refs": [f"ev-{number}"],
        "subject": "payment-api",
        **changes,
    }


def a_result(specialist: str = "logs", number: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a result of *specialist* with one claim on one piece of evidence."""
    digest = f"{number:064x}"
    evidence = {
        "evidence_id": f"ev-{number}",
        "kind": "log_aggregate",
        "source": "logs.payment_prod",
        "query_fingerprint": digest,
        "scope": {
            "tenant": "prod-cn",
            "time_range": ["2026-07-23T01:45:00Z", "2026-07-23T02:02:00Z"],
        },
        "observed_at": "2026-07-23T02:02:31Z",
        "artifact_uri": f"artifact://sha256/{digest}",
        "content_hash": digest,
        "quality": "passed",
        "tool_call_id": f"call-{number}",
        "trace_id": "t",
        "supports_types": ["causal_signal"],
    }
    return {
        "task_id": TASKS[specialist],
        "agent_id": f"{specialist}-agent@1",
        "status": "completed",
        "summary": "found",
        "claims": [a_claim(number)],
        "evidence": [evidence],
        **changes,
    }
