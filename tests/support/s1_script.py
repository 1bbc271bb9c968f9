"""S1 by script: the three answers of the payment incident, and their variants."""

from typing import Any

from consumers.specialists.questions import Question
from tests.support.records import RawRecord, alert_record
from tests.support.scripted import Script, claim, evidence, result, store_artifact

LOG, METRIC, SECURITY = "log-investigator@3", "metric-analyst@1", "security-auditor@1"
EAST_CHINA = "success rate 99.6 % -> 93.1 %, east China most affected"


async def script(url: str) -> Script:
    """Return S1's main sequence: log and change complete, metric partial, causes disagree."""
    logs, trace = await store_artifact(url, "pool"), await store_artifact(url, "trace")
    series, change = await store_artifact(url, "rate"), await store_artifact(url, "rule")

    def log(_: Script, question: Question) -> dict[str, Any]:
        said = "payment-api: connection pool exhausted, precedes the drop by 42 s"
        cause = claim(
            "claim-log-17",
            "primary_cause",
            "connection_pool_exhaustion",
            said,
            "ev-log-41",
            "ev-trace-09",
        ) | {"subject": "payment-api"}
        return result(
            question,
            LOG,
            claims=[cause, candidates("logs", "payment-api", said, "ev-log-41")],
            evidence=[
                evidence("ev-log-41", logs, "log_aggregate", "causal_signal"),
                evidence("ev-trace-09", trace, "trace_aggregate", "causal_signal"),
            ],
        )

    def metric(_: Script, question: Question) -> dict[str, Any]:
        return result(
            question,
            METRIC,
            status="partial",
            missing_evidence=["other regions"],
            claims=[
                claim(
                    "claim-metric-07", "impact", "99.6 -> 93.1", EAST_CHINA, "ev-metric-07"
                )
            ],
            evidence=[evidence("ev-metric-07", series, "metric_series", "impact_metric")],
        )

    def security(_: Script, question: Question) -> dict[str, Any]:
        said = "risk rule published 02:01:25, only the time is known"
        cause = claim(
            "claim-sec-08", "primary_cause", "risk_rule_change", said, "ev-change-12"
        )
        return result(
            question,
            SECURITY,
            claims=[cause | {"subject": "risk-gateway"}],
            warnings=["rule content not read"],
            evidence=[evidence("ev-change-12", change, "change_record", "causal_signal")],
        )

    return Script({"logs": log, "metrics": metric, "changes": security})


def candidates(specialist: str, service: str, why: str, ref: str) -> dict[str, Any]:
    """Return a ranked list of one candidate."""
    entry = {
        "service": service,
        "category": "resource",
        "type": "connection_pool_exhaustion",
        "score": 0.84,
        "onset": "2026-07-23T02:00:48Z",
        "modality": specialist,
        "why": why,
    }
    name = f"cause_candidates.{specialist}"
    return claim(f"claim-{specialist}-list", name, [entry], why, ref) | {"inference": True}


def alerts(environment: str, name: str) -> list[RawRecord]:
    """Return the three alerts of S1, all within one minute; the first names the script."""
    kinds = (
        ("payment_confirm_timeouts", "payment-api"),
        ("gateway_latency_p95", "payment-gateway"),
        ("risk_rule_hit_rate", "risk-gateway"),
    )
    return [
        alert_record(
            at,
            identity=f"{environment}-{at}",
            fingerprint=f"{environment}-{kind}",
            alert_id=f"{environment}-{at}",
            environment=environment,
            signal_kind=kind,
            service=service,
            window_start="2026-07-23T01:45:00Z",
            window_end="2026-07-23T02:10:00Z",
            labels={"script": name},
        )
        for at, (kind, service) in enumerate(kinds)
    ]
