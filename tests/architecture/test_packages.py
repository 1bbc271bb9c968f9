"""Dependencies: declared, pinned to a tested range, locked with hashes, free of our names."""

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.support.source_tree import PACKAGES, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME = {
    "faststream", "aiokafka", "pydantic", "cloudevents", "sqlalchemy", "psycopg", "mcp",
    "prometheus-client",
}  # fmt: skip
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def ranges(requirements: list[str]) -> dict[str, str]:
    """Return name -> version range of *requirements*."""
    found = (
        re.match(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?(.*)", line) for line in requirements
    )
    return {match[1].lower(): match[2] for match in found if match}


def test_the_named_runtime_packages_are_declared_with_a_range() -> None:
    """The eight runtime packages have a lower and an upper bound. SHAPE-10."""
    declared = ranges(PROJECT["project"]["dependencies"])
    bounded = {name for name, spec in declared.items() if ">=" in spec and "<" in spec}

    assert RUNTIME - bounded == set()


def test_the_test_packages_are_declared_with_a_range() -> None:
    """Tests use pytest and testcontainers. SHAPE-10."""
    declared = ranges(PROJECT["dependency-groups"]["dev"])

    assert {"pytest", "testcontainers"} <= {
        name for name, spec in declared.items() if "<" in spec
    }


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_package_carries_hashes(lock: Path) -> None:
    """Each pinned package of a lock file is followed by at least one hash."""
    blocks = re.split(r"\n(?=[a-z0-9])", locked_text(lock))
    bare = [
        block.split()[0]
        for block in blocks
        if "==" in block and "--hash=sha256:" not in block
    ]

    assert bare == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_lock_files_name_no_address(lock: Path) -> None:
    """A lock file names versions and hashes, never an index or a host."""
    text = locked_text(lock)

    assert [word for word in ("://", "--index-url", "--find-links") if word in text] == []


def test_the_lighter_locks_agree_with_the_full_one() -> None:
    """What the demo installs is what the tests ran with."""
    pins = {
        lock.stem: set(re.findall(r"^([a-z0-9._-]+==\S+)", lock.read_text(), re.M))
        for lock in LOCKS
    }

    assert (set(), set()) == (pins["core"] - pins["dev"], pins["local"] - pins["dev"])


@pytest.mark.parametrize("declared", ["dependencies", "local", "dev"])
def test_declared_packages_are_locked(declared: str) -> None:
    """A dependency that is declared and not locked fails until `make lock` ran."""
    groups = {
        "dependencies": PROJECT["project"]["dependencies"],
        "local": PROJECT["project"]["optional-dependencies"]["local"],
        "dev": PROJECT["dependency-groups"]["dev"],
    }
    locked = set(
        re.findall(r"^([a-z0-9._-]+)==", (ROOT / "requirements/dev.txt").read_text(), re.M)
    )

    assert set(ranges(groups[declared])) - locked == set()


def test_no_dependency_claims_one_of_our_names() -> None:
    """Our generic top-level names belong to no other installed distribution."""
    owners = packages_distributions()
    foreign = {name: owners.get(name, []) for name in (*PACKAGES, "tests", "benchmarks")}

    assert {} == {
        name: found for name, found in foreign.items() if set(found) - {"caseops"}
    }


def locked_text(lock: Path) -> str:
    """Return the text of *lock* without its comments."""
    text = lock.read_text()
    return "\n".join(
        line for line in text.splitlines() if not line.lstrip().startswith("#")
    )
