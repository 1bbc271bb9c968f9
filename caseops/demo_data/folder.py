"""Writes the payment incident as a case folder: alerts, context, telemetry, changes, limits."""

import json
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from caseops.demo_data import logs, metrics, traces
from caseops.demo_data.incident import (
    CHANGED,
    DEPENDENCIES,
    DROPPED,
    END,
    FIRED,
    SEED,
    SERVICES,
    START,
    VARIANTS,
    Variant,
    text,
)
from infra.errors import WrongInput

_NO_END = "0001-01-01T00:00:00Z"


def write(folder: Path, *, variant: str = "main", seed: int = SEED) -> Path:
    """Write the folder and return it; the same *variant* and *seed* give the same bytes."""
    chosen = VARIANTS.get(variant)
    if chosen is None:
        raise WrongInput("UNKNOWN_VARIANT", variant, f"One of {', '.join(VARIANTS)}.")
    folder.mkdir(parents=True, exist_ok=True)
    _document(folder / "context.json", _context())
    _document(folder / "alert.json", _alerts())
    _document(folder / "limits.json", chosen.limits)
    _rows(folder / "logs.jsonl", map(json.dumps, logs.window(seed)))
    _rows(folder / "logs_reference.jsonl", map(json.dumps, logs.reference(seed)))
    _rows(folder / "metrics.csv", metrics.rows(seed))
    _rows(folder / "trace_edges.csv", traces.edge_rows(seed))
    _rows(folder / "traces_sample.jsonl", map(json.dumps, traces.spans(seed)))
    _rows(folder / "changes.jsonl", map(json.dumps, _changes(chosen)))
    return folder


def _document(path: Path, content: Any) -> None:  # noqa: ANN401 - any JSON
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _rows(path: Path, rows: Iterable[str]) -> None:
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def _context() -> dict[str, Any]:
    return {
        "schema": "incident-context/v1",
        "system": "payments",
        "namespace": "payments",
        "cluster": "prod-cn",
        "services": list(SERVICES),
        "candidate_services": list(SERVICES),
        "dependencies": [
            {"caller": caller, "callee": callee} for caller, callee in DEPENDENCIES
        ],
        "window": {"start": text(START), "end": text(END)},
        "metrics_step_seconds": 60,
        "modalities": {
            "metrics": True,
            "logs": True,
            "logs_reference": True,
            "traces": True,
            "changes": True,
        },
        "notes": ["the change log keeps time and target of a risk rule, not its content"],
    }


def _alerts() -> dict[str, Any]:
    """Return one Alertmanager body with the three alerts of one minute."""
    return {
        "version": "4",
        "receiver": "caseops",
        "status": "firing",
        "groupKey": '{}:{cluster="prod-cn"}',
        "truncatedAlerts": 0,
        "alerts": [
            _alert(
                "payment_confirm_timeout",
                {"service": "payment-api", "severity": "critical", "region": "cn-east"},
                ("success_rate", 99.6, 93.1, "payment_confirm timeouts rise after 02:01"),
            ),
            _alert(
                "gateway_latency_p95",
                {"service": "edge-ingress", "severity": "critical"},
                ("gateway_p95_ms", 420, 3800, "gateway P95 rose from 420 ms to 3.8 s"),
            ),
            _alert(
                "risk_rule_hit_rate",
                {"service": "risk-gateway", "severity": "warning"},
                ("rule_hit_percent", 2.1, 31.0, "abnormal hit rate of the new risk rule"),
            ),
        ],
    }


def _alert(
    name: str, labels: dict[str, str], figures: tuple[str, float, float, str]
) -> dict[str, Any]:
    metric, baseline, observed, summary = figures
    return {
        "status": "firing",
        "labels": {"alertname": name, "cluster": "prod-cn", **labels},
        "annotations": {
            "summary": summary,
            "metric": metric,
            "baseline": str(baseline),
            "observed": str(observed),
            "onset": text(DROPPED),
        },
        "startsAt": text(FIRED),
        "endsAt": _NO_END,
        "generatorURL": "",
    }


def _changes(variant: Variant) -> Iterable[dict[str, Any]]:
    yield {
        "ts": text(START + timedelta(minutes=2, seconds=11)),
        "source": "deploy-log",
        "kind": "certificate_rotation",
        "action": "rotate",
        "target": "cert/edge-ingress-tls",
        "service": "edge-ingress",
        "actor": "cert-rotator",
        "summary": "scheduled rotation finished",
    }
    if variant.rule_changed:
        yield {
            "ts": text(CHANGED),
            "source": "rule-console",
            "kind": "risk_rule",
            "action": "publish",
            "target": "rule/velocity-limit",
            "service": "risk-gateway",
            "actor": "risk-rules",
            "summary": "rule published; its content is not part of the change log",
        }
