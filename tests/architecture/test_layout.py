"""The top level of the repository holds what the house plan names, and nothing else. SHAPE-09."""

from tests.support.source_tree import ROOT

REQUIRED = {
    "producers", "consumers", "projections", "event_schemas", "outbox_relay", "infra",
    "compose.kafka.yml", "tests", "pyproject.toml",
}  # fmt: skip
BESIDE_THEM = {
    "playbooks", "caseops", "benchmarks", "docs", "requirements", "Makefile", "Dockerfile",
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE",
}  # fmt: skip
MADE_BY_TOOLS = {"build", "dist", "__pycache__"}


def top_level() -> set[str]:
    """Return the names at the top level, without dotfiles and what tools make."""
    return {
        path.name
        for path in ROOT.iterdir()
        if not path.name.startswith(".")
        and path.name not in MADE_BY_TOOLS
        and path.suffix != ".egg-info"
    }


def test_all_required_names_are_there() -> None:
    """The nine names of the product shape are at the top level. SHAPE-09."""
    assert REQUIRED - top_level() == set()


def test_nothing_unnamed_is_there() -> None:
    """A new top-level name is a decision, recorded here and in an ADR. SHAPE-09."""
    assert top_level() - REQUIRED - BESIDE_THEM == set()


def test_every_package_says_what_it_holds() -> None:
    """Each package has a module docstring of one line."""
    silent = [
        str(path.relative_to(ROOT))
        for name in REQUIRED | BESIDE_THEM
        for path in (ROOT / name).rglob("__init__.py")
        if name != "tests" and not path.read_text().startswith('"""')
    ]

    assert silent == []
