"""S1, the payment incident: main sequence and variants, seen from topics and views only."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import s1_script as s1
from tests.support import stack
from tests.support.eventually import eventually
from tests.support.scripted import (
    Answer,
    Company,
    Script,
    claim,
    evidence,
    result,
    store_artifact,
)
from tests.support.store import rows
from tests.support.system import System, a_system

RUN_SECONDS = 481
PAST_DELEGATION = 361


@dataclass
class Stage:
    """A running system and the scripts of its specialists."""

    system: System
    company: Company

    async def play(self, name: str, script: Script) -> None:
        """Publish the three alerts of a run in environment *name*."""
        self.company.scripts[name] = script
        await self.system.publish(s1.alerts(name, name))

    async def run_of(self, environment: str) -> str:
        """Return the run of *environment* once the supervisor has started it."""
        found: list[Any] = []

        async def started() -> None:
            found[:] = await rows(
                self.system.url,
                "select run_id from run_view where document->>'environment' = %s",
                environment,
            )
            assert found

        await eventually(started)
        return str(found[0][0])

    async def seen(self, run: str, name: str, times: int = 1) -> list[dict[str, Any]]:
        """Return the data of *times* events *name* of *run* once they are on the log."""
        found: list[dict[str, Any]] = []

        async def there() -> None:
            found[:] = [data for kind, data in await self.system.log(run) if kind == name]
            assert times <= len(found)

        await eventually(there)
        return found


@pytest.fixture(scope="module")
async def stage(
    kafka_bootstrap: str,
    postgres_url: str,
    database_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Stage]:
    """Give a whole system with scripted specialists; each test plays in its own environment."""
    folder: Path = tmp_path_factory.mktemp("artifacts")
    company = Company()
    async with (
        stack.new_database(postgres_url, database_template) as url,
        a_system(
            kafka_bootstrap,
            url,
            stack.unique_prefix(),
            folder,
            catalogue=company.catalogue(),
        ) as system,
    ):
        await system.start()
        yield Stage(system, company)


async def test_main_sequence_ends_in_a_stage_report(stage: Stage) -> None:
    """Three alerts, one incident; metric partial, causes disagree: stage assessment."""
    await stage.play("main", await s1.script(stage.system.url))

    done = await stage.system.completion("main")
    report = done["report"]
    assert ("completed", "partial", "PARTIAL_EVIDENCE") == (
        done["status"],
        done["result_status"],
        done["outcome"],
    )
    assert "stage assessment (2/3 complete, metric partial)" == report["status"]
    assert [s1.EAST_CHINA] == report["impact"]
    first = report["causes"][0]
    assert ("payment-api", "connection_pool_exhaustion") == (
        first["service"],
        first["type"],
    )
    [conflict] = report["conflicts"]
    assert ("primary_cause", "unresolved") == (conflict["topic"], conflict["resolution"])
    assert {"connection_pool_exhaustion", "risk_rule_change"} == {
        side["value"] for side in conflict["claims"]
    }
    assert "other regions" in report["missing"]
    assert any("risk-gateway→payment-api" in line for line in report["advice"])
    assert {"no automatic rollback", "any change goes to R3 two-person approval"} <= set(
        report["advice"]
    )


async def test_main_sequence_leaves_the_facts_of_the_catalogue(stage: Stage) -> None:
    """INT-01..09, PLAN-06, DEL-03: one case, three signals, read-only steps, no tenant."""
    await stage.play("facts", await s1.script(stage.system.url))
    done = await stage.system.completion("facts")
    log = await stage.system.log(done["run_id"])

    counts = Counter(name for name, _ in log)
    assert 1 == counts["intake.accepted"] == counts["incident.started"]
    assert 2 == counts["case.signal_added"]
    assert 3 == counts["delegation.created"] == counts["delegation.completed"]
    assert 3 == counts["result.accepted"]
    assert 1 == counts["join.closed"] == counts["report.published"]
    assert 1 == counts["conflict.recorded"] == counts["conflict.escalated"]
    assert 1 == counts["incident.completed"]
    plan = next(data for name, data in log if name == "plan.accepted")
    assert {"R0"} == {step["risk"] for step in plan["steps"]}
    created = [data["delegation"] for name, data in log if name == "delegation.created"]
    assert not any("tenant" in name for each in created for name in each)

    async def viewed() -> None:
        view = await stage.system.view(done["run_id"])
        assert (3, "completed") == (view.get("signals"), view.get("status"))

    await eventually(viewed)


async def test_a_no_impact_evidence_is_insufficient(stage: Stage) -> None:
    """S1-a: the metric specialist never answers; the deadline closes the join."""
    script = await s1.script(stage.system.url)
    script.hold("metrics")
    await stage.play("s1-a", script)
    run = await stage.run_of("s1-a")
    await stage.seen(run, "result.accepted", 2)
    await stage.system.shift_clock(RUN_SECONDS)

    done = await stage.system.completion("s1-a")
    closed = (await stage.seen(run, "join.closed"))[0]
    assert ("deadline", "INSUFFICIENT_EVIDENCE") == (closed["reason"], closed["outcome"])
    assert ("completed", "blocked") == (done["status"], done["result_status"])
    assert ["impact unproven"] == done["report"]["impact"]
    assert "request evidence: impact_metric" in done["report"]["advice"]


async def test_c_all_complete_without_conflict(stage: Stage) -> None:
    """S1-c: all three complete, security finds no correlated change."""
    script = await s1.script(stage.system.url)
    whole = script.answers["metrics"]
    script.answers["metrics"] = lambda s, q: (
        whole(s, q) | {"status": "completed", "missing_evidence": []}
    )
    script.answers["changes"] = lambda _, q: result(q, s1.SECURITY, status="no_data")
    await stage.play("s1-c", script)

    done = await stage.system.completion("s1-c")
    assert ("COMPLETE", "completed", []) == (
        done["outcome"],
        done["result_status"],
        done["report"]["conflicts"],
    )


async def test_d_a_late_result_makes_revision_two(stage: Stage) -> None:
    """S1-d, LATE-03: the metric result comes after the end; revision 1 stays as it was."""
    script = await s1.script(stage.system.url)
    script.hold("metrics")
    await stage.play("s1-d", script)
    run = await stage.run_of("s1-d")
    await stage.seen(run, "result.accepted", 2)
    await stage.system.shift_clock(RUN_SECONDS)
    done = await stage.system.completion("s1-d")
    script.release("metrics")

    [revised] = await stage.seen(run, "report.revised")
    log = await stage.system.log(run)
    counts = Counter(name for name, _ in log)
    assert (2, [s1.EAST_CHINA]) == (
        revised["report"]["revision"],
        revised["report"]["impact"],
    )
    assert (1, 1, 1) == (
        counts["result.late"],
        counts["report.published"],
        counts["incident.completed"],
    )
    published = next(data for name, data in log if name == "report.published")
    assert done["report"] == published["report"]
    records = await stage.system.topic("completions")
    kinds = [
        dict(r.headers)["ce_type"]
        for r in records
        if dict(r.headers)["ce_runid"] == run.encode()
    ]
    assert [
        b"dev.caseops.incident.completed.v1",
        b"dev.caseops.report.revised.v1",
    ] == kinds


async def test_e_duplicates_change_nothing(stage: Stage) -> None:
    """S1-e, SHAPE-03, B7: every event of the run is delivered again; nothing follows."""
    await stage.play("s1-e", await s1.script(stage.system.url))
    done = await stage.system.completion("s1-e")
    run = done["run_id"]
    await stage.seen(run, "case.closed")
    before = await rows(stage.system.url, "select count(*) from events where key = %s", run)
    again = [
        r
        for r in await stage.system.topic("events")
        if dict(r.headers).get("ce_runid") == run.encode()
    ]
    await stage.system.publish(again[::-1])
    await stage.system.publish(s1.alerts("s1-e", "s1-e"))
    await stage.play("s1-e-after", await s1.script(stage.system.url))
    await stage.system.completion("s1-e-after")

    after = await rows(stage.system.url, "select count(*) from events where key = %s", run)
    assert before == after


async def test_f_a_result_without_claims_field_is_rejected(stage: Stage) -> None:
    """S1-f, RES-09: an invalid result is a failed branch; the join goes on."""
    script = await s1.script(stage.system.url)
    right = script.answers["logs"]

    def without_claims(script: Script, question: Any) -> dict[str, Any]:
        answer: dict[str, Any] = right(script, question)
        del answer["claims"]
        return answer

    script.answers["logs"] = without_claims
    await stage.play("s1-f", script)

    done = await stage.system.completion("s1-f")
    [rejected] = await stage.seen(done["run_id"], "result.rejected")
    assert ("schema", "SCHEMA_INVALID", "logs") == (
        rejected["check"],
        rejected["reason"],
        rejected["specialist"],
    )
    assert "PARTIAL_EVIDENCE" == done["outcome"]


@pytest.mark.parametrize("with_security", [True, False])
async def test_g_changed_artifact_bytes_are_found(
    stage: Stage, *, with_security: bool
) -> None:
    """S1-g, EVI-06: the bytes of ev-log-41 change before the join sees the result."""
    name = f"s1-g-{with_security}"
    script = await s1.script(stage.system.url)
    forged = await store_artifact(stage.system.url, name)
    script.answers["logs"] = _resting_on(script.answers["logs"], forged)
    if not with_security:
        script.answers["changes"] = lambda _, q: result(
            q, s1.SECURITY, status="failed", error_code="UPSTREAM_UNAVAILABLE"
        )
    await rows(
        stage.system.url, "update artifacts set bytes = 'forged' where sha256 = %s", forged
    )
    await stage.play(name, script)

    done = await stage.system.completion(name)
    rejections = await stage.seen(
        done["run_id"], "result.rejected", 1 if with_security else 2
    )
    reasons = {each["specialist"]: each["reason"] for each in rejections}
    assert "ARTIFACT_HASH_MISMATCH" == reasons["logs"]
    expected = "PARTIAL_EVIDENCE" if with_security else "INSUFFICIENT_EVIDENCE"
    assert (expected, []) == (done["outcome"], done["report"]["conflicts"])
    assert not any("log" in claim for claim in done["report"]["claim_ids"])
    assert "logs: ARTIFACT_HASH_MISMATCH" in done["report"]["missing"]


def _resting_on(right: Answer, sha: str) -> Answer:
    def answer(script: Script, question: Any) -> dict[str, Any]:
        document: dict[str, Any] = right(script, question)
        document["evidence"][0] = evidence(
            "ev-log-41", sha, "log_aggregate", "causal_signal"
        )
        return document

    return answer


@pytest.mark.parametrize("with_metric", [True, False])
async def test_h_one_artifact_counts_once(stage: Stage, *, with_metric: bool) -> None:
    """S1-h, EVI-07: log and security on the same bytes are one independent signal."""
    name = f"s1-h-{with_metric}"
    script = await s1.script(stage.system.url)
    shared = await store_artifact(stage.system.url, "shared")

    def answer(agent: str, kind: str) -> Any:
        def on_shared(_: Script, question: Any) -> dict[str, Any]:
            ref = f"ev-{agent[:3]}"
            return result(
                question,
                agent,
                claims=[claim(f"claim-{agent[:3]}", f"note.{agent[:3]}", "x", "said", ref)],
                evidence=[evidence(ref, shared, kind, "causal_signal")],
            )

        return on_shared

    script.answers["logs"] = answer(s1.LOG, "log_aggregate")
    script.answers["changes"] = answer(s1.SECURITY, "change_record")
    if not with_metric:
        script.answers["metrics"] = lambda _, q: result(
            q, s1.METRIC, status="failed", error_code="RATE_LIMITED"
        )
    await stage.play(name, script)

    done = await stage.system.completion(name)
    expected = "PARTIAL_EVIDENCE" if with_metric else "INSUFFICIENT_EVIDENCE"
    assert expected == done["outcome"]
    assert [["logs", "changes"]] == done["report"]["dependent"]


async def test_n_a_missing_log_shard_is_a_gap(stage: Stage) -> None:
    """S1-n, AMB-33: the log result is partial and names the shard; the minimum holds."""
    script = await s1.script(stage.system.url)
    right = script.answers["logs"]
    script.answers["logs"] = lambda s, q: (
        right(s, q) | {"status": "partial", "missing_evidence": ["log-shard-cn-east-3"]}
    )
    await stage.play("s1-n", script)

    done = await stage.system.completion("s1-n")
    assert "PARTIAL_EVIDENCE" == done["outcome"]
    assert "log-shard-cn-east-3" in done["report"]["missing"]
    assert (
        "stage assessment (1/3 complete, log partial, metric partial)"
        == (done["report"]["status"])
    )
