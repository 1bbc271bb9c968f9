"""A case folder asks for its own investigation."""

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from caseops.case_folder import alerts_of
from event_schemas.codec import structured
from event_schemas.envelope import Envelope
from infra.errors import WrongInput
from tests.support.case_folders import END, SERVICES, START, payment_case, text

SHARED = Path(__file__).parents[3] / "shared" / "data" / "incidents"


def data_of(envelope: Envelope) -> dict[str, Any]:
    """Return the data of *envelope*."""
    found: dict[str, Any] = json.loads(envelope.data)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a case folder."""
    return payment_case(tmp_path / "case")


def test_an_alert_points_at_the_folder_and_its_scope(folder: Path) -> None:
    """Window, services and the absolute path come from the folder. INT-02."""
    data = data_of(*alerts_of(folder))

    assert {
        "window_start": text(START),
        "window_end": text(END),
        "services": list(SERVICES),
        "case_folder": str(folder.resolve()),
        "tenant": "local",
    }.items() <= data.items()
    assert data["environment"].startswith("case-")


def test_asking_twice_gives_the_same_event(folder: Path) -> None:
    """The same folder is the same signal, and so one run."""
    assert alerts_of(folder) == alerts_of(folder)


def test_a_tag_gives_a_signal_of_its_own(folder: Path) -> None:
    """Another tag: another fingerprint in another environment, so that no open case joins it."""
    (first,), (again,) = alerts_of(folder), alerts_of(folder, tag="2")
    names = ("fingerprint", "environment")

    assert first.id != again.id
    assert not {data_of(first)[name] for name in names} & {
        data_of(again)[name] for name in names
    }


def test_other_content_is_another_signal(folder: Path) -> None:
    """A folder that was corrected is investigated anew."""
    (before,) = alerts_of(folder)
    context = json.loads((folder / "context.json").read_text())
    context["window"]["end"] = text(END + timedelta(minutes=1))
    (folder / "context.json").write_text(json.dumps(context))
    (after,) = alerts_of(folder)

    assert data_of(before)["fingerprint"] != data_of(after)["fingerprint"]


def test_folders_of_one_name_stay_apart(folder: Path, tmp_path: Path) -> None:
    """A copy elsewhere is a case of its own."""
    copy = shutil.copytree(folder, tmp_path / "other" / "case")

    assert (
        data_of(*alerts_of(folder))["environment"]
        != data_of(*alerts_of(copy))["environment"]
    )


def test_the_given_tenant_and_environment_hold(folder: Path) -> None:
    """A caller that knows better says so."""
    (envelope,) = alerts_of(folder, tenant="acme", environment="production")
    data = data_of(envelope)

    assert ("acme", "acme", "production") == (
        envelope.tenantid,
        data["tenant"],
        data["environment"],
    )


def test_alerts_of_our_own_type_keep_their_tenant(folder: Path) -> None:
    """`alert.json` may hold CloudEvents; they say themselves whose they are."""
    (envelope,) = alerts_of(folder, tenant="acme", environment="production")
    (folder / "alert.json").write_text(json.dumps([structured(envelope)]))
    (read_back,) = alerts_of(folder)

    assert ("acme", "production") == (
        read_back.tenantid,
        data_of(read_back)["environment"],
    )


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("alert.json", None, "alert.json: it is not there"),
        ("context.json", None, "context.json: it is not there"),
        ("alert.json", "{", "alert.json: not JSON"),
        ("context.json", "[]", "context.json: a JSON object is expected"),
        ("alert.json", '{"version": "4", "alerts": []}', "it holds no alert"),
        ("alert.json", '{"version": "9", "alerts": []}', "webhook version 9"),
        ("context.json", '{"window": {"start": "noon"}}', "context.json: window"),
    ],
)
def test_a_broken_folder_says_which_file(
    folder: Path, file: str, content: str | None, told: str
) -> None:
    """A person learns what to mend."""
    (folder / file).unlink() if content is None else (folder / file).write_text(content)

    with pytest.raises(WrongInput, match=f"CASE_FOLDER_INVALID.*{told}"):
        alerts_of(folder)


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.is_dir(), reason="not run: no ../shared/data here")
def test_every_recorded_incident_can_be_asked_for() -> None:
    """Each folder gives its one or two alerts, all in one environment of their own."""
    asked = {folder.name: alerts_of(folder) for folder in SHARED.iterdir()}
    places = {
        name: {data_of(each)["environment"] for each in found}
        for name, found in asked.items()
    }

    assert {1, 2} == {len(found) for found in asked.values()}
    assert {1} == {len(found) for found in places.values()}
