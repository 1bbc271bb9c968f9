"""The analyses on real labelled incidents, kept beside the checkout and never in it."""

import asyncio
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from caseops.evaluation import Judged, evaluate, incident_folders
from tests.support.offline import EVIDENCE_KINDS, investigate_offline

DATA = Path(__file__).parents[2].parent / "shared" / "data"

pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="not run: no ../shared/data here"),
]


async def _judged(folder: Path) -> Judged:
    started = perf_counter()
    conclusions, verdict = await investigate_offline(folder)
    claims = [
        claim.model_dump(mode="json") | {"evidence": [{"kind": EVIDENCE_KINDS[name]}]}
        for name, conclusion in conclusions.items()
        for claim in conclusion.claims
    ]
    causes = [
        {
            "service": cause.service,
            "category": cause.category,
            "type": cause.type,
            "onset": cause.onset,
            "change_ref": cause.change_ref and dict(cause.change_ref),
        }
        for cause in verdict.causes
    ]
    report = {
        "verdict": verdict.verdict,
        "causes": causes,
        "confidence": verdict.confidence,
        "summary": " ".join(each.summary for each in conclusions.values()),
    }
    return Judged(
        folder.name, {"claims": claims, "report": report}, perf_counter() - started
    )


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    """Give the table over all incidents, made once."""

    async def judge_all() -> list[Judged]:
        return [await _judged(folder) for folder in incident_folders(DATA)]

    return evaluate(DATA, asyncio.run(judge_all()))


def test_the_ranking_beats_simple_fusion_clearly(table: dict[str, Any]) -> None:
    """The bar is a hand-written cascade over all kinds of data, not a single ranker."""
    scores = table["scores"]["ALL"]

    assert scores["top1"]["mean"] >= 0.54
    assert scores["top3"]["mean"] >= 0.68


def test_no_false_alarm_is_given_a_cause(table: dict[str, Any]) -> None:
    """Every quiet incident comes out inconclusive or without a fault."""
    assert 1.0 == table["scores"]["ALL"]["restraint"]["mean"]


def test_confident_wrong_answers_are_rare(table: dict[str, Any]) -> None:
    """Where the evidence is thin, the case stays open."""
    assert len(table["confident_and_wrong"]) <= 4


def test_every_claim_rests_on_evidence_and_none_is_slow(table: dict[str, Any]) -> None:
    """CLM-01, and a first judgement within seconds."""
    assert 1.0 == table["totals"]["claims_with_evidence"]
    assert table["totals"]["seconds_max"] < 10
