"""Events with sane values: payloads from the golden run of S1, envelopes as the log has them."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from caseops import playbooks
from consumers.supervisor import decider as supervisor
from consumers.supervisor.reactions import StartRun
from event_schemas.alerts import AlertRaised
from event_schemas.cases import IntakeAccepted
from event_schemas.envelope import Envelope
from event_schemas.ids import event_id
from event_schemas.payload import Payload, canonical
from event_schemas.plans import PlanAccepted
from event_schemas.playbooks import Directory, Playbook
from event_schemas.registry import BY_PAYLOAD
from event_schemas.results import ResultSubmitted
from event_schemas.runs import IncidentStarted, PlaybookUsed
from tests.support.records import alert_data

GOLDEN = Path(__file__).parents[1] / "contract" / "golden"
BEGAN = datetime(2026, 7, 23, 2, 2, 5, tzinfo=UTC)

Fact = TypeVar("Fact", bound=Payload)
Event = tuple[Envelope, Payload]


def golden(payload: type[Payload]) -> dict[str, Any]:
    """Return the data of the golden event of *payload*."""
    name = BY_PAYLOAD[payload].name
    data: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())["data"]
    return data


RUN: str = golden(IncidentStarted)["run_id"]
CASE: str = golden(IncidentStarted)["case_id"]
TASKS: dict[str, str] = {
    step["specialist"]: step["task_id"] for step in golden(PlanAccepted)["steps"]
}


def a(payload: type[Fact], **changes: Any) -> Fact:
    """Return a *payload* of the golden run with *changes* (as JSON values)."""
    return payload.model_validate({**golden(payload), **changes}, strict=False)


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


@lru_cache
def the_playbook() -> Playbook:
    """Return the reference playbook of S1, read once."""
    return playbooks.load()[0]


def a_playbook(**changes: Any) -> PlaybookUsed:
    """Return the playbook of S1 as a run records it, with *changes* (`join` is merged)."""
    content = the_playbook().model_dump(mode="json")
    join = {**content["join"], **changes.pop("join", {})}
    playbook = Playbook.model_validate({**content, **changes, "join": join}, strict=False)
    return playbooks.used((playbook,))[playbook.name, playbook.version]


def an_alert(number: int = 1, **changes: Any) -> AlertRaised:
    """Return an alert of S1; *number* makes id and fingerprint its own."""
    return AlertRaised.model_validate(alert_data(number, **changes), strict=False)


def an_accepted_case(**changes: Any) -> IntakeAccepted:
    """Return the case of S1 as intake accepts it."""
    used = a_playbook()
    return a(IntakeAccepted, playbook=used.name, playbook_version=used.version, **changes)


def a_started_run(**changes: Any) -> list[Payload]:
    """Return what the supervisor decides when S1 starts, its playbook with *changes*."""
    command = StartRun(an_accepted_case())
    return list(
        supervisor.decide(supervisor.initial(), command, a_playbook(**changes), BEGAN)
    )


def a_plan(*, required: tuple[str, ...] = (), **join: Any) -> PlanAccepted:
    """Return the plan of S1: *required* steps, and changes of its *join* rule."""
    steps = the_playbook().model_dump(mode="json")["steps"]
    steps = [{**step, "required": step["step_id"] in required} for step in steps]
    facts = a_started_run(steps=steps, join=join)
    return next(fact for fact in facts if isinstance(fact, PlanAccepted))


def a_piece(name: str, kind: str, supports: str, **changes: Any) -> dict[str, Any]:
    """Return evidence *name* of S1 on bytes of its own, supporting one evidence type."""
    digest = changes.pop("digest", sha256(name.encode()).hexdigest())
    return {
        "evidence_id": name,
        "kind": kind,
        "source": f"{kind}.payment_prod",
        "query_fingerprint": sha256(b"query").hexdigest(),
        "scope": {
            "tenant": "prod-cn",
            "services": ["payment-api"],
            "time_range": ["2026-07-23T01:45:00Z", "2026-07-23T02:02:00Z"],
        },
        "observed_at": "2026-07-23T02:02:31Z",
        "artifact_uri": f"artifact://sha256/{digest}",
        "content_hash": digest,
        "quality": "passed",
        "tool_call_id": f"call-{name}",
        "trace_id": "t",
        "supports_types": [supports],
        **changes,
    }


def _cause(name: str, value: str, subject: str, *refs: str) -> dict[str, Any]:
    said = f"{value} in {subject} precedes the drop"
    return a_claim(
        claim_id=name,
        value=value,
        subject=subject,
        statement=said,
        evidence_refs=list(refs),
    )


_CANDIDATE = {
    "service": "payment-api",
    "category": "resource",
    "type": "connection_pool_exhaustion",
    "score": 0.8,
    "modality": "logs",
    "onset": "2026-07-23T02:00:48Z",
    "why": "the pool is empty before the first error",
}
_ANSWERS: dict[str, dict[str, Any]] = {
    "logs": {
        "agent_id": "log-investigator@3",
        "status": "completed",
        "claims": [
            _cause(
                "claim-log-17",
                "connection_pool_exhaustion",
                "payment-api",
                "ev-log-41",
                "ev-trace-09",
            ),
            a_claim(
                claim_id="claim-log-18",
                key="cause_candidates.logs",
                value=[_CANDIDATE],
                subject=None,
                statement="where the errors of the logs begin",
                evidence_refs=["ev-log-41"],
            ),
        ],
        "evidence": [
            a_piece("ev-log-41", "log_aggregate", "causal_signal"),
            a_piece("ev-trace-09", "trace_aggregate", "causal_signal"),
        ],
    },
    "metrics": {
        "agent_id": "metric-analyst@1",
        "status": "partial",
        "claims": [
            a_claim(
                claim_id="claim-metric-01",
                key="impact",
                value="99.6 % to 93.1 %",
                subject="cn-east",
                statement="success rate 99.6 % to 93.1 %, most in cn-east",
                evidence_refs=["ev-metric-07"],
            )
        ],
        "evidence": [a_piece("ev-metric-07", "metric_series", "impact_metric")],
        "missing_evidence": ["other regions"],
    },
    "changes": {
        "agent_id": "security-auditor@1",
        "status": "completed",
        "claims": [
            _cause("claim-sec-08", "risk_rule_change", "risk-gateway", "ev-change-12")
        ],
        "evidence": [a_piece("ev-change-12", "change_record", "causal_signal")],
        "warnings": ["the content of the rule was not read"],
    },
}


def an_answer(task_id: str, step: str, /, **changes: Any) -> dict[str, Any]:
    """Return the answer of S1 to *step*, as the document its specialist submits."""
    return {"task_id": task_id, "summary": f"{step} read", **_ANSWERS[step], **changes}


def task_of(plan: PlanAccepted, step: str) -> str:
    """Return the task id of *step* in *plan*."""
    return next(each.task_id for each in plan.steps if each.step_id == step)


def a_submission(
    plan: PlanAccepted, step: str, /, *, plan_version: int = 1, **changes: Any
) -> ResultSubmitted:
    """Return the answer of S1 to *step* of *plan*, submitted."""
    task = task_of(plan, step)
    document = an_answer(task, step, **changes)
    return ResultSubmitted(
        task_id=task,
        step_id=step,
        plan_version=plan_version,
        attempt=1,
        content_hash=sha256(canonical(document)).hexdigest(),
        result=document,
    )


def all_intact(submitted: ResultSubmitted) -> dict[str, str | None]:
    """Return what the join observes when every artifact of *submitted* is as it was."""
    found = [each["content_hash"] for each in submitted.result.get("evidence", ())]
    return {content: content for content in found if content is not None}


@lru_cache
def the_directory() -> Directory:
    """Return the reference service directory, read once."""
    return playbooks.load_directory()
