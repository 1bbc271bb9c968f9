"""The import contracts of pyproject.toml hold."""

import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.source_tree import PACKAGES, ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]


def test_all_contracts_are_kept() -> None:
    """Layers, purity, independence and sole importers are as the contracts say. SHAPE-16, 21."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_is_under_contract() -> None:
    """No package of code stands outside the contracts; playbooks are data."""
    assert set(PACKAGES) - {"playbooks"} == set(SETTINGS["root_packages"])


def test_every_house_contract_is_there() -> None:
    """The contracts of the house rules are present by id; none is dropped in silence."""
    expected = {
        "folders", "services", "specialists", "inside-consumers", "pure", "broker", "database",
        "mcp", "cloudevents", "settings", "plumbing", "acyclic", "planner-executor",
    }  # fmt: skip

    assert expected <= {contract["id"] for contract in SETTINGS["contracts"]}
