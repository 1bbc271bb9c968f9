"""The documents promise what the system keeps, and name what exists."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from caseops.cli.app import app
from tests.support.documented import examples
from tests.support.source_tree import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
EVERYTHING = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")
LINKS = sorted(
    {
        (path, link)
        for path in DOCUMENTS
        for link in LINK.findall(path.read_text(encoding="utf-8"))
    }
)
COMMANDS = sorted(set(re.findall(r"\bcaseops ([a-z]+)(?: ([a-z]+))?", EVERYTHING)))
DISCLAIMED = re.compile(r"\b(never|not|no)\b", re.IGNORECASE)


def test_nothing_claims_exactly_once() -> None:
    """Exactly-once is named only where it is disclaimed. SHAPE-18."""
    sentences = re.split(r"(?<=[.!?:|])\s", EVERYTHING)
    claims = [s for s in sentences if re.search(r"exactly[- ]once", s, re.IGNORECASE)]

    assert [] == [claim for claim in claims if not DISCLAIMED.search(claim)]


def test_the_readme_states_the_guarantee() -> None:
    """The guarantee is worded as the house words it. SHAPE-18."""
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split()).lower()

    assert "at-least-once delivery, idempotent effects within declared boundaries" in text


@pytest.mark.parametrize(("document", "link"), LINKS, ids=str)
def test_a_link_leads_somewhere(document: Path, link: str) -> None:
    """Each relative link of a document points at a file."""
    assert (document.parent / link).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z]+)`", EVERYTHING))))
def test_a_named_make_target_exists(target: str) -> None:
    """Each `make` target that a document names is in the Makefile."""
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


def test_every_make_target_explains_itself() -> None:
    """`make help` lists every target."""
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    explained = re.findall(r"^([a-z]+):.*## ", MAKEFILE, re.MULTILINE)

    assert phony is not None
    assert sorted(phony[1].split()) == sorted(explained)


@pytest.mark.parametrize("command", sorted({verb for verb, _ in COMMANDS}))
def test_a_named_command_exists(command: str) -> None:
    """Each `caseops` command that a document names has a help page."""
    assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0


def test_the_readme_is_executed() -> None:
    """The README's main commands and both of its programs are run in CI."""
    titles = [example.title for example in examples((ROOT / "README.md").read_text())]

    assert ["make demo", "make up", "python", "python", "make down"] == [
        title.split(":")[0] for title in titles
    ]


def test_the_readme_programs_are_valid_python() -> None:
    """Both programs of the README compile."""
    programs = [
        example.command[2]
        for example in examples((ROOT / "README.md").read_text())
        if example.title.startswith("python")
    ]

    assert [compile(program, "README.md", "exec") is not None for program in programs] == [
        True
    ] * 2
