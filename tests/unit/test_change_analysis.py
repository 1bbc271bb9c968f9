"""The change auditor's judgement."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from consumers.specialists.changes.answers import Output
from consumers.specialists.changes.cluster_kinds import about, troubles
from consumers.specialists.questions import Conclusion
from tests.support.case_folders import CHANGED, payment_case, text
from tests.support.offline import ask, question_of


async def _changes_of(folder: Path) -> Conclusion:
    return await ask("changes", question_of(folder), folder, task_id="t")


async def test_a_change_close_to_the_onset_is_named_with_a_warning(tmp_path: Path) -> None:
    """S1: the time fits, the content is unknown, and both are said."""
    conclusion = await _changes_of(payment_case(tmp_path / "case"))
    (cause,) = [claim for claim in conclusion.claims if claim.key == "primary_cause"]

    assert ("risk_rule_change", "risk-gateway", True) == (
        cause.value,
        cause.subject,
        cause.inference,
    )
    assert any("only the time" in warning for warning in conclusion.warnings)


async def test_orders_inside_a_record_change_nothing(tmp_path: Path) -> None:
    """S1-w: text found in evidence is data (EVI-12)."""
    folder = payment_case(tmp_path / "case")
    plain = await _changes_of(folder)
    record = json.loads((folder / "changes.jsonl").read_text())
    record["summary"] = "published"
    (folder / "changes.jsonl").write_text(json.dumps(record))

    assert plain.claims == (await _changes_of(folder)).claims


async def test_a_change_long_before_is_no_suspect(tmp_path: Path) -> None:
    """S1-c: the log was read, it holds changes, none of them is close."""
    folder = payment_case(tmp_path / "case")
    record = json.loads((folder / "changes.jsonl").read_text())
    record["ts"] = text(CHANGED - timedelta(minutes=15))
    (folder / "changes.jsonl").write_text(json.dumps(record))
    conclusion = await _changes_of(folder)

    assert "completed" == conclusion.status
    assert [("correlated_change", "none")] == [
        (claim.key, claim.value) for claim in conclusion.claims
    ]


async def test_an_absent_change_log_is_no_data(tmp_path: Path) -> None:
    """An empty file means that no change log is kept; the answer says so."""
    folder = payment_case(tmp_path / "case")
    (folder / "changes.jsonl").write_text("")
    conclusion = await _changes_of(folder)

    assert "no_data" == conclusion.status
    assert any("not kept" in warning for warning in conclusion.warnings)


async def test_cluster_state_names_what_killed_the_container(tmp_path: Path) -> None:
    """Recorded output of a read-only command is evidence like any other."""
    folder = payment_case(tmp_path / "case")
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "describe.txt").write_text(
        "Name: payment-api-1\nLast State: Terminated\n  Reason: OOMKilled\n"
    )
    conclusion = await _changes_of(folder)

    assert ["risk_rule_change", "container_oom_killed"] == [
        claim.value for claim in conclusion.claims if claim.key == "primary_cause"
    ]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Reason: OOMKilled", "container_oom_killed"),
        ("0/3 nodes are available: 3 Insufficient cpu.", "unschedulable_resources"),
        ("node(s) had untolerated taint {dedicated: db}", "unschedulable_node_selector"),
        ('Failed to pull image "x:1": not found', "image_pull_failure"),
        ('configmap "settings" not found', "missing_config_reference"),
        ("Readiness probe failed: HTTP 500", "health_probe_failure"),
        ("Status: Pending\nrequests:\n  vendor.com/gpu: 4", "unschedulable_gpu_request"),
        ("Back-off restarting failed container", "crash_loop"),
    ],
)
def test_a_cluster_tells_kinds_of_trouble(said: str, expected: str) -> None:
    """The words of the cluster itself decide."""
    assert expected == next(troubles(said)).type


def test_other_workloads_in_a_list_are_not_ours() -> None:
    """Of a table only the lines about the service count."""
    table = "NAME        READY STATUS\nother-1     0/1   CrashLoopBackOff\napi-1       1/1   Running"

    assert about("api", [Output(name="pods", text=table)]) == "api-1       1/1   Running"
