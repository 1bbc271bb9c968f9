"""The commands that meet Kafka: alerts in, completions out, every record accounted for."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from caseops import installation
from caseops.cli.entry import run
from event_schemas.codec import encode, structured
from event_schemas.runs import RunCompleted
from infra.kafka.sending import ToSend, send
from tests.support.builders import a, history
from tests.support.eventually import eventually
from tests.support.members import intake_member
from tests.support.records import ALERT, alert_data
from tests.support.store import rows

Cli = Callable[..., Awaitable[tuple[int, Any]]]


@pytest.fixture
async def cli(
    kafka_bootstrap: str,
    database: str,
    topic_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Cli:
    """Give a call of the command line on an installation of this test's own."""
    monkeypatch.setenv("CASEOPS_DATABASE_URL", database)
    monkeypatch.setenv("CASEOPS_KAFKA_BOOTSTRAP", kafka_bootstrap)
    monkeypatch.setenv("CASEOPS_TOPIC_PREFIX", topic_prefix)
    await installation.apply(
        kafka_bootstrap, database, topic_prefix, replication=1, partitions=2
    )

    async def call(*arguments: str) -> tuple[int, Any]:
        capsys.readouterr()
        with capture_logs():  # the process sends them to stderr, see `main`
            code = await asyncio.to_thread(run, arguments)
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return call


def an_event(number: int) -> dict[str, Any]:
    """Return an alert as a structured CloudEvent."""
    return {
        "specversion": "1.0",
        "id": f"event-{number}",
        "source": "/tests",
        "type": ALERT,
        "tenantid": "prod-cn",
        "data": alert_data(number),
    }


async def test_every_alert_is_accounted_for(
    cli: Cli, kafka_bootstrap: str, database: str, topic_prefix: str, tmp_path: Any
) -> None:
    """Alerts, a repeat and junk: waiting before intake runs, then all in exactly one place."""
    alerts = tmp_path / "alerts.jsonl"
    lines = [json.dumps(an_event(number)) for number in (1, 2, 3, 1)]
    alerts.write_text("\n".join(lines))
    topic = f"{topic_prefix}.alerts"
    _, [sent] = await cli("alert", str(alerts), "--json")
    await send(kafka_bootstrap, [ToSend(topic, None, [], b"junk")])
    code, [before] = await cli("audit", "conservation", "--json")

    async def handled() -> None:
        _, [found] = await cli("lag", "--json")
        [left] = [each["waiting"] for each in found if each["topic"] == topic]
        assert 0 == left

    async with intake_member(kafka_bootstrap, database, topic_prefix):
        await eventually(handled)
    _, [after] = await cli("audit", "conservation", "--json")

    assert (0, 4, 5) == (code, len(sent), before[topic]["waiting"])
    assert (5, 3, 1, {"duplicate": 1}, 0, 0) == tuple(
        after[topic][name]
        for name in (
            "records", "effects", "dead_letters", "skipped", "waiting", "unaccounted",
        )
    )  # fmt: skip


async def test_a_lost_record_is_found(cli: Cli, database: str, topic_prefix: str) -> None:
    """Exit code 1 when progress moved past a record that left no trace."""
    await rows(
        database,
        "update consumer_progress set next_offset = 1"
        " where consumer = 'intake' and partition = 0 and topic like %s",
        "%.alerts",
    )
    code, [found] = await cli("audit", "conservation", "--json")

    assert (1, 1) == (code, found[f"{topic_prefix}.alerts"]["unaccounted"])


async def test_subscribers_get_completions(
    cli: Cli, kafka_bootstrap: str, topic_prefix: str
) -> None:
    """Each group gets every completion once and goes on where it stopped."""
    [(envelope, _)] = history([a(RunCompleted)])
    headers, value = encode(envelope)
    record = ToSend(f"{topic_prefix}.completions", b"k", headers, value)
    await send(kafka_bootstrap, [record])
    take_one = ("subscribe", "--from-beginning", "--count", "1", "--json")
    _, first = await cli(*take_one, "--group", "g1")
    await send(kafka_bootstrap, [ToSend(record.topic, b"k", headers, b'{"second": true}')])
    _, second = await cli(*take_one, "--group", "g1")
    _, other = await cli(*take_one, "--group", "g2")
    _, nobody = await cli(*take_one)

    assert [structured(envelope)] == first == other == nobody
    assert {"second": True} == second[0]["data"]


async def test_doctor_finds_everything_in_place(cli: Cli) -> None:
    """On an installed, idle system all checks are good."""
    code, [found] = await cli("doctor", "--json")

    assert (0, True) == (code, found["ok"])
