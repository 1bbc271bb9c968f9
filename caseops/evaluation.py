"""Scores judgements against labelled incidents; pure but for reading the folder it is given."""

import contextlib
import io
import json
import runpy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

Document = Mapping[str, Any]
Judge = Callable[[Document, Document], Mapping[str, float]]

_CANDIDATES = "cause_candidates."
_MODALITIES = {
    "log_aggregate": "logs",
    "trace_aggregate": "traces",
    "metric_series": "metrics",
    "change_record": "changes",
    "cluster_state": "artifacts",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One incident's judgement: the document that `show` gives, and the time it took."""

    incident: str
    document: Document
    seconds: float


def incident_folders(root: Path) -> list[Path]:
    """Return the case folders under *root*: `incidents/*`, else its own sub-folders."""
    parent = root / "incidents" if (root / "incidents").is_dir() else root
    return sorted(path.parent for path in parent.glob("*/context.json"))


def row(judged: Judged) -> dict[str, Any]:
    """Return the line of the result table for one incident."""
    claims = _claims(judged.document)
    report = judged.document.get("report") or {}
    return {
        "incident": judged.incident,
        "ranking": _ranking(report),
        "verdict": report.get("verdict", "inconclusive"),
        "seconds": round(judged.seconds, 3),
        "grounded": sum(bool(_evidence(claim)) for claim in claims),
        "total_claims": len(claims),
        "insufficient": report.get("verdict", "inconclusive") != "root_cause",
    }


def prediction(judged: Judged) -> dict[str, Any]:
    """Return the judgement in the form that a scorer of labelled incidents reads."""
    report = judged.document.get("report") or {}
    causes = report.get("causes") or []
    best = causes[0] if causes else {}
    claims = _claims(judged.document)
    told = {
        "incident": judged.incident,
        "verdict": report.get("verdict", "inconclusive"),
        "ranked": _ranking(report),
        "type": best.get("type"),
        "category": best.get("category"),
        "onset": best.get("onset"),
        "confidence": report.get("confidence"),
        "change_ref": best.get("change_ref"),
        "evidence": [told for claim in claims for told in _told(claim)],
        "summary": _summary(report, claims),
    }
    return {key: value for key, value in told.items() if value is not None}


def evaluate(root: Path, judged: Sequence[Judged]) -> dict[str, Any]:
    """Return rows, totals and, where *root* has labels and a scorer, its scores."""
    rows = [row(each) for each in judged]
    predictions = [prediction(each) for each in judged]
    return {
        "incidents": rows,
        "totals": _totals(rows),
        **_scored(root, predictions),
    }


def _totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    claims = sum(each["total_claims"] for each in rows)
    grounded = sum(each["grounded"] for each in rows)
    seconds = sorted(each["seconds"] for each in rows)
    return {
        "incidents": len(rows),
        "claims": claims,
        "claims_with_evidence": round(grounded / claims, 4) if claims else None,
        "insufficient": sum(each["insufficient"] for each in rows),
        "seconds_p50": seconds[len(seconds) // 2] if seconds else None,
        "seconds_max": seconds[-1] if seconds else None,
    }


def _scored(root: Path, predictions: Sequence[Document]) -> dict[str, Any]:
    scorer, truth = root / "score.py", root / "truth"
    if not (scorer.is_file() and truth.is_dir()):
        return {"scores": None}
    module = runpy.run_path(str(scorer))
    return {
        "scores": _run_scorer(module["main"], truth, predictions),
        "confident_and_wrong": _confident_and_wrong(module["judge"], truth, predictions),
    }


def _run_scorer(
    main: Callable[[Path, Path], None], truth: Path, predictions: Sequence[Document]
) -> Any:  # noqa: ANN401 - the table is the scorer's own
    printed = io.StringIO()
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        path = Path(folder) / "predictions.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in predictions))
        main(truth, path)
    return json.loads(printed.getvalue())


def _confident_and_wrong(
    judge: Judge, truth: Path, predictions: Iterable[Document]
) -> list[str]:
    """Return the incidents where a cause was named and the first one is not it."""
    wrong = []
    for each in predictions:
        path = truth / each["incident"] / "truth.json"
        if each["verdict"] != "root_cause" or not path.is_file():
            continue
        marks = judge(json.loads(path.read_text()), each)
        if marks.get("top1") == 0 or marks.get("restraint") == 0:
            wrong.append(each["incident"])
    return wrong


def _ranking(report: Document) -> list[str]:
    services = [str(cause["service"]) for cause in report.get("causes") or []]
    return list(dict.fromkeys(services))


def _claims(document: Document) -> list[Document]:
    return list(document.get("claims") or [])


def _evidence(claim: Document) -> Sequence[Any]:
    found: Sequence[Any] = claim.get("evidence") or claim.get("evidence_refs") or ()
    return found


def _told(claim: Document) -> list[dict[str, str]]:
    if str(claim.get("key", "")).startswith(_CANDIDATES):
        return [
            {"modality": str(entry["modality"]), "text": str(entry["why"])}
            for entry in claim["value"]
        ]
    kinds = [
        str(each.get("kind")) for each in _evidence(claim) if isinstance(each, Mapping)
    ]
    modality = next((_MODALITIES[kind] for kind in kinds if kind in _MODALITIES), "")
    return [{"modality": modality, "text": str(claim.get("statement", ""))}]


def _summary(report: Document, claims: Iterable[Document]) -> str:
    said = [str(report.get("summary") or ""), *map(str, report.get("impact") or ())]
    return " ".join([*said, *(str(claim.get("statement", "")) for claim in claims)])
