"""The payment incident that the demo plays: the facts of S1, and what they lead to."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from caseops.case_folder import alerts_of
from caseops.demo_data.__main__ import main
from caseops.demo_data.folder import write
from consumers.specialists.questions import Conclusion
from consumers.supervisor.ranking import Verdict
from infra.errors import WrongInput
from tests.support.offline import investigate_offline

Asked = tuple[dict[str, Conclusion], Verdict]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the main sequence."""
    return write(tmp_path_factory.mktemp("demo") / "main")


@pytest.fixture(scope="module")
async def asked(folder: Path) -> Asked:
    """Give what the three specialists and the ranking make of the main sequence."""
    return await investigate_offline(folder)


def logs(folder: Path) -> list[dict[str, Any]]:
    """Return the log lines of *folder*."""
    return [json.loads(line) for line in (folder / "logs.jsonl").read_text().splitlines()]


def statements(conclusion: Conclusion, key: str) -> list[str]:
    """Return what *conclusion* claims under *key*."""
    return [claim.statement for claim in conclusion.claims if claim.key == key]


def test_the_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    """The folder is made anew at every demo and is always the same."""
    again = write(tmp_path / "again")

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        path.name: path.read_bytes() for path in again.iterdir()
    }


def test_another_seed_keeps_the_facts_and_changes_the_noise(
    folder: Path, tmp_path: Path
) -> None:
    """Times of the scenario are no random numbers."""
    other = write(tmp_path / "other", seed=1)

    assert logs(folder) != logs(other)
    assert first_exhaustion(folder) == first_exhaustion(other)


def first_exhaustion(folder: Path) -> tuple[str, str]:
    """Return time and service of the first line that says the pool is dry."""
    found = next(line for line in logs(folder) if "not available" in line["msg"])
    return (found["ts"], found["service"])


def test_thousands_of_lines_tell_of_the_pool_42_seconds_before_the_drop(
    folder: Path,
) -> None:
    """The exhaustion starts at 02:00:48 among lines of all three services. S1."""
    lines = logs(folder)

    assert ("2026-07-23T02:00:48Z", "payment-api") == first_exhaustion(folder)
    assert len(lines) > 5000
    assert {"edge-ingress", "payment-api", "risk-gateway"} == {
        line["service"] for line in lines
    }


def test_no_payment_times_out_before_the_drop(folder: Path) -> None:
    """Timeouts begin at 02:01:30. S1."""
    found = [
        line["ts"] for line in logs(folder) if "payment_confirm timeout" in line["msg"]
    ]

    assert "2026-07-23T02:01:30Z" < min(found) < "2026-07-23T02:01:45Z"


def test_the_worst_region_falls_from_99_6_to_93_1(folder: Path) -> None:
    """Success by region, and the latency at the door. S1."""
    rows = list(csv.DictReader((folder / "metrics.csv").read_text().splitlines()))
    east = [float(row["value"]) for row in rows if "cn-east" in row["metric"]]
    p95 = [float(row["value"]) for row in rows if "p95" in row["metric"]]

    assert (93.1, 3.8) == (min(east), max(p95))
    assert 99.6 == round(east[0], 1)


def test_its_three_alerts_are_of_three_kinds_in_one_environment(folder: Path) -> None:
    """Three signals of one minute that become one case. INT-08."""
    found = [
        json.loads(each.data)
        for each in alerts_of(folder, tenant="prod-cn", environment="production")
    ]

    assert [
        ("payment_confirm_timeout", "payment-api"),
        ("gateway_latency_p95", "edge-ingress"),
        ("risk_rule_hit_rate", "risk-gateway"),
    ] == [(each["signal_kind"], each["service"]) for each in found]
    assert {"2026-07-23T02:02:00Z"} == {each["starts_at"] for each in found}


def test_the_log_specialist_names_the_pool(asked: Asked) -> None:
    """Cause, lead of 42 s, and evidence of logs and traces. S1 step 4."""
    (claim,) = [c for c in asked[0]["logs"].claims if c.key == "primary_cause"]

    assert ("payment-api", "connection_pool_exhaustion", 0.84) == (
        claim.subject,
        claim.value,
        claim.confidence,
    )
    assert "precedes the drop by 42 s" in claim.statement
    assert 2 == len(claim.evidence_refs)


def test_the_metric_specialist_is_cut_off_after_the_first_region(asked: Asked) -> None:
    """Impact in figures for the worst region, the others missing. S1 step 6."""
    metrics = asked[0]["metrics"]
    (impact,) = statements(metrics, "impact")

    assert "success_rate 99.6 -> 93.1 in region cn-east" in impact
    assert ("partial", ("metrics-region-cn-north", "metrics-region-cn-south")) == (
        metrics.status,
        metrics.missing_evidence,
    )


def test_the_change_specialist_knows_the_time_only(asked: Asked) -> None:
    """The rule change is close, and nothing proves it. S1 step 5."""
    changes = asked[0]["changes"]
    (claim,) = [c for c in changes.claims if c.key == "primary_cause"]

    assert ("risk-gateway", "risk_rule_change") == (claim.subject, claim.value)
    assert any("not its content" in warning for warning in changes.warnings)


def test_the_pool_is_the_strongest_candidate_before_the_rule(asked: Asked) -> None:
    """The judgement of S1."""
    assert [
        ("payment-api", "connection_pool_exhaustion"),
        ("risk-gateway", "risk_rule_change"),
    ] == [(cause.service, cause.type) for cause in asked[1].causes]


async def test_without_a_rule_change_all_is_complete(tmp_path: Path) -> None:
    """S1-c: three complete answers, no conflict."""
    conclusions, verdict = await investigate_offline(write(tmp_path / "c", variant="c"))
    named = [
        each for one in conclusions.values() for each in statements(one, "primary_cause")
    ]

    assert {"completed"} == {each.status for each in conclusions.values()}
    assert (1, "connection_pool_exhaustion") == (len(named), verdict.causes[0].type)


async def test_a_lost_shard_is_named_and_the_cause_still_found(tmp_path: Path) -> None:
    """S1-n: the log answer is partial, the first occurrence is elsewhere."""
    conclusions, verdict = await investigate_offline(write(tmp_path / "n", variant="n"))

    assert ("log-shard-cn-east-3",) == conclusions["logs"].missing_evidence
    assert "connection_pool_exhaustion" == verdict.causes[0].type


def test_the_hanging_metric_source_is_written_down(tmp_path: Path) -> None:
    """S1-a: the source takes the question and never answers."""
    limits = json.loads((write(tmp_path / "a", variant="a") / "limits.json").read_text())

    assert {"metrics": {"hang": True}} == limits


def test_an_unknown_variant_is_refused(tmp_path: Path) -> None:
    """The error lists the known ones."""
    with pytest.raises(WrongInput, match="UNKNOWN_VARIANT"):
        write(tmp_path / "z", variant="z")


def test_the_generator_runs_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`python -m caseops.demo_data FOLDER` writes the folder and says where."""
    target = tmp_path / "cli"

    assert 0 == main([str(target), "--variant", "c"])
    assert f"{target}\n" == capsys.readouterr().out
    assert {} == json.loads((target / "limits.json").read_text())
