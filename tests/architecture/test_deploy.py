"""What is deployed: every service has its container, nothing is open, nothing is secret by default."""

import json
import re
from typing import Any

import pytest
import yaml

from caseops.groups import ALL
from tests.support.source_tree import ROOT, sources

TEXT = (ROOT / "compose.kafka.yml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name.replace(".", "_"): name for name in ALL}
DASHBOARD = json.loads((ROOT / "infra/deploy/grafana/caseops.json").read_text())
PROMETHEUS = yaml.safe_load((ROOT / "infra/deploy/prometheus.yml").read_text())
LOGINS = (ROOT / "infra/deploy/logins.sql").read_text(encoding="utf-8")


def test_every_service_has_a_container_that_runs_it_alone() -> None:
    """Each service of the product is a container of its own. SHAPE-02."""
    expected = {container: ["serve", service] for container, service in OURS.items()}

    assert expected == {name: SERVICES[name]["command"] for name in OURS}


def test_no_container_runs_what_the_product_does_not_know() -> None:
    """Every container that serves names a service of the product."""
    serving = {
        name for name, body in SERVICES.items() if "serve" in body.get("command", [])
    }

    assert set(OURS) == serving


@pytest.mark.parametrize("container", OURS)
def test_a_service_is_ready_before_it_counts(container: str) -> None:
    """Each service is asked for its readiness."""
    assert "/health/ready" in SERVICES[container]["healthcheck"]["test"][-1]


@pytest.mark.parametrize("container", OURS)
def test_a_service_has_its_own_database_login(container: str) -> None:
    """A service connects as a login that `logins.sql` makes a member of its role only."""
    url = SERVICES[container]["environment"]["CASEOPS_DATABASE_URL"]
    login = re.fullmatch(r"postgresql://svc_([a-z_]+)@postgres:5432/caseops", url)

    assert login is not None
    assert f"('{login[1]}', :'{login[1]}')" in LOGINS


@pytest.mark.parametrize("container", OURS)
def test_a_service_may_write_nothing_but_its_volume(container: str) -> None:
    """A service runs without capabilities on a read-only file system."""
    body = SERVICES[container]

    assert (True, ["ALL"]) == (body["read_only"], body["cap_drop"])


def test_ports_are_bound_to_this_machine() -> None:
    """Nothing listens beyond the local address."""
    ports = [port for body in SERVICES.values() for port in body.get("ports", [])]

    assert [] == [port for port in ports if not port.startswith("127.0.0.1:")]


def test_no_secret_has_a_default() -> None:
    """Every password comes from the environment and is missed loudly."""
    secret = re.findall(r"^\s+([A-Z_]*PASSWORD): (.*)$", TEXT, re.MULTILINE)

    assert secret
    assert [] == [name for name, value in secret if not re.match(r"\$\{[A-Z_]+:\?", value)]


def test_images_are_pinned() -> None:
    """No image floats."""
    images = {body["image"] for body in SERVICES.values()}

    assert [] == [
        image for image in images if not re.search(r":[\w.]+$", image) or "latest" in image
    ]


def test_prometheus_scrapes_every_service() -> None:
    """Each service's metrics are collected."""
    (job,) = PROMETHEUS["scrape_configs"]

    assert sorted(f"{name}:8080" for name in OURS) == sorted(
        job["static_configs"][0]["targets"]
    )


def test_the_dashboard_shows_metrics_that_exist() -> None:
    """Each metric of the dashboard is defined in the code."""
    shown = {
        re.sub(r"_(total|bucket)$", "", name)
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
        for name in re.findall(r"caseops_[a-z_]+", target["expr"])
    }
    defined = {
        name for s in sources() for name in re.findall(r'"(caseops_[a-z_]+)"', s.text)
    }

    assert shown - {re.sub(r"_total$", "", name) for name in defined} == set()


def test_the_image_runs_unprivileged_and_from_the_lock() -> None:
    """The image installs hashed packages and runs as a user without rights."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")

    assert "--require-hashes -r /src/requirements/core.txt" in text
    assert re.search(r"^USER \d{4,}$", text, re.MULTILINE)


def test_the_documented_metrics_and_codes_exist() -> None:
    """Each metric and each code of the operations page occurs in the code."""
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    code = "\n".join(source.text for source in sources())
    metrics = {
        re.sub(r"_total$", "", name) for name in re.findall(r"`(caseops_[a-z_]+)`", text)
    }
    codes = set(re.findall(r"`([A-Z][A-Z_]{4,})`", text))

    assert [] == sorted(name for name in metrics | codes if f'"{name}' not in code)
