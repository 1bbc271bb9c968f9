"""The walkthrough names files, events and wire names that exist."""

import re

import pytest

from event_schemas.registry import BY_NAME, BY_PAYLOAD
from tests.support.source_tree import ROOT

WALKTHROUGH = (ROOT / "docs" / "walkthrough.md").read_text(encoding="utf-8")
QUOTED = sorted(set(re.findall(r"`([^`]+)`", WALKTHROUGH)))
FILES = [word for word in QUOTED if "/" in word]
WIRE_NAMES = [word for word in QUOTED if word.startswith("dev.caseops.")]
EVENTS = [word for word in QUOTED if re.fullmatch(r"[A-Z][A-Za-z]+", word)]


@pytest.mark.parametrize("path", FILES)
def test_a_named_file_exists(path: str) -> None:
    """Each file of the walkthrough can be opened."""
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("name", WIRE_NAMES)
def test_a_named_wire_name_is_registered(name: str) -> None:
    """Each wire name of the walkthrough is in the registry."""
    assert name in BY_NAME


@pytest.mark.parametrize("name", EVENTS)
def test_a_named_event_is_a_payload(name: str) -> None:
    """Each event of the walkthrough is a registered payload."""
    assert name in {payload.__name__ for payload in BY_PAYLOAD}


def test_nothing_else_is_quoted() -> None:
    """Everything quoted is a file, a wire name or an event, so that all of it is checked."""
    assert [word for word in QUOTED if word not in {*FILES, *WIRE_NAMES, *EVENTS}] == []
