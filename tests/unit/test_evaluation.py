"""Scoring of judgements against labelled incidents."""

import json
from pathlib import Path
from typing import Any

from caseops.evaluation import Judged, evaluate, incident_folders, prediction, row

SCORER = """
import json

def judge(truth, pred):
    ranked = pred.get("ranked") or []
    return {"top1": int(ranked[:1] == [truth["service"]])}

def main(root, preds):
    rows = [json.loads(line) for line in preds.read_text().splitlines()]
    print(json.dumps({"ALL": {"n": len(rows)}}))
"""


def _document(service: str, verdict: str = "root_cause") -> dict[str, Any]:
    cause = {"service": service, "category": "code", "type": "code_exception"}
    candidates = [{"modality": "logs", "why": "flow cut short", "service": service}]
    return {
        "claims": [
            {
                "key": "cause_candidates.logs",
                "value": candidates,
                "statement": "one suspect",
                "evidence": [{"kind": "log_aggregate"}],
            },
            {
                "key": "impact",
                "value": "v",
                "statement": "success_rate 99.6 -> 93.1",
                "evidence": [{"kind": "metric_series"}],
            },
        ],
        "report": {
            "verdict": verdict,
            "causes": [cause | {"onset": "2026-01-01T00:00:00Z", "change_ref": None}],
            "confidence": 0.8,
            "summary": "s",
            "impact": ["success_rate 99.6 -> 93.1"],
        },
    }


def _data(root: Path) -> Path:
    for name, service in (("inc-1", "a"), ("inc-2", "b")):
        (root / "incidents" / name).mkdir(parents=True)
        (root / "incidents" / name / "context.json").write_text("{}")
        (root / "truth" / name).mkdir(parents=True)
        label = json.dumps({"incident": name, "service": service})
        (root / "truth" / name / "truth.json").write_text(label)
    (root / "score.py").write_text(SCORER)
    return root


def test_incidents_are_found_in_either_layout(tmp_path: Path) -> None:
    """A data set has an `incidents` folder; a plain folder of case folders will do."""
    root = _data(tmp_path)

    assert ["inc-1", "inc-2"] == [path.name for path in incident_folders(root)]
    assert incident_folders(root) == incident_folders(root / "incidents")


def test_a_prediction_carries_only_what_is_known() -> None:
    """Absent values are left out, not sent as null."""
    told = prediction(Judged("inc-1", _document("a"), 1.0))

    assert (["a"], "code_exception", "2026-01-01T00:00:00Z") == (
        told["ranked"],
        told["type"],
        told["onset"],
    )
    assert "change_ref" not in told
    assert [("logs", "flow cut short"), ("metrics", "success_rate 99.6 -> 93.1")] == [
        (each["modality"], each["text"]) for each in told["evidence"]
    ]


def test_a_run_without_a_report_is_insufficient() -> None:
    """No judgement is told as such."""
    told = row(Judged("inc-1", {"claims": [], "report": None}, 1.0))

    assert (True, [], 0) == (told["insufficient"], told["ranking"], told["total_claims"])


def test_labelled_data_is_scored_by_its_own_scorer(tmp_path: Path) -> None:
    """The folder's scorer decides; confident wrong answers are named."""
    judged = [
        Judged("inc-1", _document("a"), 1.0),
        Judged("inc-2", _document("x"), 2.0),
    ]
    table = evaluate(_data(tmp_path), judged)

    assert {"ALL": {"n": 2}} == table["scores"]
    assert ["inc-2"] == table["confident_and_wrong"]
    assert 1.0 == table["totals"]["claims_with_evidence"]


def test_an_inconclusive_answer_is_not_confidently_wrong(tmp_path: Path) -> None:
    """Insufficient evidence beats a confident wrong answer."""
    judged = [Judged("inc-2", _document("x", verdict="inconclusive"), 1.0)]
    table = evaluate(_data(tmp_path), judged)

    assert ([], 1) == (table["confident_and_wrong"], table["totals"]["insufficient"])


def test_unlabelled_data_is_judged_without_scores(tmp_path: Path) -> None:
    """Any folder of case folders can be run."""
    table = evaluate(tmp_path, [Judged("inc-1", _document("a"), 1.0)])

    assert table["scores"] is None
    assert ["a"] == table["incidents"][0]["ranking"]
