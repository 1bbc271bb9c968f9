"""The files of the published language equal what the code generates, and are sound."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from event_schemas.asyncapi import asyncapi_document
from event_schemas.published import FOLDER, VERSION, differences, documents, main, write
from event_schemas.registry import REGISTRY
from event_schemas.topics import all_topics

ASYNCAPI = asyncapi_document(VERSION)


def references(node: Any) -> list[str]:
    """Return every `$ref` below *node*."""
    if isinstance(node, list):
        return [ref for item in node for ref in references(item)]
    if not isinstance(node, dict):
        return []
    here = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    return here + [ref for item in node.values() for ref in references(item)]


def target(reference: str) -> Any:
    """Return what *reference* of the AsyncAPI document points at."""
    if not reference.startswith("#/"):
        return json.loads((FOLDER / reference).read_text())
    node: Any = ASYNCAPI
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    return node


def test_committed_files_are_current() -> None:
    """`make schemas` would change nothing."""
    assert differences() == []


def test_a_stale_a_missing_and_a_surplus_file_are_named(tmp_path: Path) -> None:
    """The check names each file that is not what the code generates."""
    write(tmp_path)
    (tmp_path / "json" / "dev.caseops.goal.created.v1.json").write_text("{}")
    (tmp_path / "json" / "dev.caseops.join.closed.v1.json").unlink()
    (tmp_path / "json" / "dev.caseops.gone.v1.json").write_text("{}")

    assert differences(tmp_path) == [
        "differs: json/dev.caseops.goal.created.v1.json",
        "differs: json/dev.caseops.join.closed.v1.json",
        "nobody registers: json/dev.caseops.gone.v1.json",
    ]


def test_writing_again_repairs_the_folder(tmp_path: Path) -> None:
    """Writing drops what nobody registers and restores the rest."""
    write(tmp_path)
    (tmp_path / "json" / "dev.caseops.gone.v1.json").write_text("{}")

    write(tmp_path)

    assert differences(tmp_path) == []


def test_wrong_usage_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Anything but one of the two verbs is wrong usage."""
    code = main(["destroy"])

    assert (2, True) == (code, "usage:" in capsys.readouterr().err)


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: entry.name)
def test_schemas_are_valid_and_named(entry: Any) -> None:
    """Each schema is valid 2020-12, carries its `dataschema` URI and describes the type."""
    schema = json.loads(documents()[f"json/{entry.name}.json"])
    Draft202012Validator.check_schema(schema)

    assert (entry.dataschema, True) == (schema["$id"], bool(schema["description"]))


def test_every_reference_of_the_asyncapi_document_resolves() -> None:
    """No `$ref` of the AsyncAPI document points at nothing."""
    assert [ref for ref in references(ASYNCAPI) if target(ref) is None] == []


def test_every_topic_is_a_channel() -> None:
    """The AsyncAPI document has one channel per topic, its address under the prefix."""
    expected = {f"{{prefix}}.{topic.name}" for topic in all_topics()}

    assert expected == {c["address"] for c in ASYNCAPI["channels"].values()}


def test_every_type_is_a_message_of_a_channel() -> None:
    """Every registered type appears on at least one channel."""
    on_channels = {n for c in ASYNCAPI["channels"].values() for n in c["messages"]}

    assert {entry.name for entry in REGISTRY} <= on_channels


def test_commands_and_events_share_no_topic_and_no_name() -> None:
    """A command never travels on the log, an event never on a command topic. SHAPE-11."""
    commands = {entry for entry in REGISTRY if entry.kind == "command"}
    events = set(REGISTRY) - commands
    topics = [
        {topic for entry in kind for topic in entry.topics} for kind in (commands, events)
    ]

    assert (set(), True) == (
        topics[0] & topics[1],
        all(".command." in entry.name for entry in commands)
        and not any(".command." in entry.name for entry in events),
    )


def test_commands_name_an_addressee_and_a_deadline() -> None:
    """A command without addressee or deadline is not valid. SHAPE-11."""
    required = [
        set(json.loads(documents()[f"json/{entry.name}.json"])["required"])
        for entry in REGISTRY
        if entry.kind == "command"
    ]

    assert all({"addressee", "deadline_at"} <= fields for fields in required)
