"""The command line without a stack: manual, usage, addresses, exit codes, error forms."""

import json
from pathlib import Path

import pytest

from caseops import output
from caseops.addresses import addresses
from caseops.cli.entry import run
from infra.errors import (
    CaseOpsError,
    DependencyAway,
    MustStop,
    NotFound,
    Poison,
    Transient,
    WrongInput,
)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder, with no address in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("KAFKA_BOOTSTRAP", "DATABASE_URL", "DATA_DIR", "TOPIC_PREFIX"):
        monkeypatch.delenv(f"CASEOPS_{name}", raising=False)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFound("X", "m"), 1),
        (MustStop("X", "m"), 1),
        (CaseOpsError("X", "m"), 1),
        (WrongInput("X", "m"), 2),
        (DependencyAway("X", "m"), 3),
        (Transient("m"), 3),
        (Poison("X", "m"), 3),
    ],
)
def test_each_error_has_its_exit_code(error: Exception, code: int) -> None:
    """0 done, 1 the answer is no, 2 wrong usage or input, 3 a dependency is away."""
    assert code == output.exit_code(error)


def test_a_problem_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """`CODE: what happened. what to do`, and nothing on stdout."""
    output.problem(WrongInput("BAD", "it is\nbroken", "Mend it."), as_json=False)

    assert ("", "BAD: it is broken. Mend it.\n") == capsys.readouterr()


@pytest.mark.parametrize(
    "command",
    [
        ["runs"],
        ["show", "x"],
        ["events", "x"],
        ["dlq", "list"],
        ["outbox", "list"],
        ["outbox", "retry", "1"],
        ["outbox", "skip", "1"],
        ["audit", "conservation"],
        ["lag"],
        ["subscribe"],
        ["artifact", "get", "x"],
    ],
)
def test_without_a_stack_every_command_says_how_to_get_one(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3 and an object with code, message, hint and details on stdout."""
    code = run([*command, "--json"])
    told = json.loads(capsys.readouterr().out)

    assert 3 == code
    assert {"code", "message", "hint", "details"} == set(told)
    assert "caseops up" in told["hint"]


def test_doctor_reports_what_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    """Doctor does not give up at the first missing part."""
    code = run(["doctor", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert (3, False) == (code, told["ok"])
    assert {"kafka", "postgresql", "services"} == {
        check["name"] for check in told["checks"]
    }


@pytest.mark.parametrize("arguments", [["nope"], ["show"], ["runs", "--limit", "x"], []])
def test_wrong_usage_is_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong usage says what is wrong, as JSON when that is asked for."""
    assert 2 == run([*arguments, "--json"])
    assert "USAGE" in capsys.readouterr().out or arguments == []


def test_the_manual_has_four_groups(capsys: pytest.CaptureFixture[str]) -> None:
    """`caseops --help` groups commands by what they are for."""
    assert 0 == run(["--help"])
    text = capsys.readouterr().out
    assert [] == [name for name in ("Run it", "Put in", "Look", "Act") if name not in text]


def test_config_hides_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every setting is listed with its source; the database URL is not shown."""
    monkeypatch.setenv("CASEOPS_DATABASE_URL", "postgresql://u:hunter2@h/d")
    code = run(["config", "--json"])
    text = capsys.readouterr().out
    by_name = {row["name"]: row for row in json.loads(text)}

    assert 0 == code
    assert "hunter2" not in text
    assert "environment" == by_name["CASEOPS_DATABASE_URL"]["source"]
    assert all(row["meaning"] for row in by_name.values())


def test_unreadable_alerts_are_wrong_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing file and a file that holds no alert both end with exit code 2."""
    monkeypatch.setenv("CASEOPS_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    (tmp_path / "junk").write_text('{"a": 1}')

    assert [2, 2] == [run(["alert", "missing"]), run(["alert", "junk"])]


def test_an_unfit_folder_is_wrong_input(tmp_path: Path) -> None:
    """`investigate` and `evaluate` refuse a folder without a case."""
    assert 2 == run(["investigate", str(tmp_path)])
    assert 2 == run(["evaluate", str(tmp_path)])


def listing(folder: Path) -> Path:
    """Write a stack listing to *folder* and return the folder."""
    folder.mkdir()
    (folder / "stack.json").write_text(
        json.dumps({"kafka_bootstrap": "listed:1", "database_url": "postgresql://listed"})
    )
    return folder


def test_addresses_come_from_the_default_folder(tmp_path: Path) -> None:
    """Without anything set, the stack that runs here is used."""
    listing(tmp_path / ".caseops")

    assert "listed:1" == addresses().kafka


def test_the_environment_beats_the_default_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address in the environment is used before a local stack's."""
    listing(tmp_path / ".caseops")
    monkeypatch.setenv("CASEOPS_KAFKA_BOOTSTRAP", "env:2")

    assert ("env:2", "postgresql://listed") == (addresses().kafka, addresses().database)


def test_a_named_folder_beats_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who names a data folder means the stack in it."""
    named = listing(tmp_path / "other")
    monkeypatch.setenv("CASEOPS_KAFKA_BOOTSTRAP", "env:2")

    assert "listed:1" == addresses(named).kafka
