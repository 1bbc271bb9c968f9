"""No change of a schema breaks what was released: old events stay readable, subscribers keep working."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsoncompat import check_compat

from event_schemas.published import schema_of
from event_schemas.registry import BY_NAME, REGISTRY
from event_schemas.upcasters import UPCASTERS

RELEASED = {
    path.stem: json.loads(path.read_text())
    for path in sorted((Path(__file__).parent / "released").glob("*.json"))
}

Schema = dict[str, Any]


def closed(node: Any) -> Any:
    """Return the schema of what a writer who knows *node* writes: nothing beyond it."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    inside = {key: closed(item) for key, item in node.items()}
    if isinstance(node.get("properties"), dict):
        inside.setdefault("additionalProperties", False)
    return inside


def text(schema: Schema) -> str:
    """Return *schema* for the comparison, which takes no `$id`."""
    return json.dumps({key: item for key, item in schema.items() if key != "$id"})


def still_reads(old: Schema, new: Schema) -> bool:
    """Say whether a reader of *new* understands everything written as *old*."""
    return bool(check_compat(text(closed(old)), text(new), "deserializer"))


def still_serves(old: Schema, new: Schema) -> bool:
    """Say whether a subscriber who checks against *old* accepts everything *new* allows."""
    return bool(check_compat(text(old), text(new), "serializer"))


def an_object(required: list[str], **properties: Schema) -> Schema:
    """Return an object schema that ignores unknown fields, like our payloads."""
    return {"type": "object", "properties": properties, "required": required}


STRING = {"type": "string"}
OLD = an_object(["a", "b"], a=STRING, b={"enum": ["x", "y"]})
CHANGES = {
    "nothing": (OLD, True, True),
    "optional field added": (
        {**OLD, "properties": {**OLD["properties"], "c": STRING}},
        True,
        True,
    ),
    "required field added": (
        an_object(["a", "b", "c"], **OLD["properties"], c=STRING),
        False,
        True,
    ),
    "field dropped": (an_object(["a"], a=STRING), True, False),
    "required made optional": (an_object(["a"], **OLD["properties"]), True, False),
    "enum widened": (
        an_object(["a", "b"], a=STRING, b={"enum": ["x", "y", "z"]}),
        True,
        False,
    ),
    "enum narrowed": (an_object(["a", "b"], a=STRING, b={"enum": ["x"]}), False, True),
    "type changed": (
        an_object(["a", "b"], a={"type": "integer"}, b=OLD["properties"]["b"]),
        False,
        False,
    ),
    "null allowed": (
        an_object(["a", "b"], a={"type": ["string", "null"]}, b=OLD["properties"]["b"]),
        True,
        False,
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_meaning_of_the_comparison_is_pinned(change: str) -> None:
    """The library's role names mean what this suite takes them to mean."""
    new, reads, serves = CHANGES[change]

    assert (reads, serves) == (still_reads(OLD, new), still_serves(OLD, new))


def test_a_strict_contract_may_grow_an_optional_field() -> None:
    """Readers of a closed document ship before its writers, so growth is allowed."""
    old = {**OLD, "additionalProperties": False}
    new = {**old, "properties": {**OLD["properties"], "c": STRING}}

    assert still_reads(old, new)


def test_every_type_has_a_released_schema() -> None:
    """What is registered has a baseline: the last release, or its first candidate."""
    assert {entry.name for entry in REGISTRY} <= RELEASED.keys()


@pytest.mark.parametrize("name", RELEASED)
def test_a_released_type_is_still_readable(name: str) -> None:
    """Events of every released type can be read for ever: by the type itself or an upcaster."""
    if name in UPCASTERS:
        return

    assert still_reads(RELEASED[name], schema_of(BY_NAME[name]))


@pytest.mark.parametrize(
    "name", [entry.name for entry in REGISTRY if "completions" in entry.topics]
)
def test_subscribers_of_completions_keep_working(name: str) -> None:
    """A subscriber who validates against the released schema accepts what we publish now."""
    assert still_serves(RELEASED[name], schema_of(BY_NAME[name]))
