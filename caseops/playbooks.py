"""Read the playbooks and the service directory that an installation runs with."""

from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import ValidationError

from event_schemas.payload import canonical
from event_schemas.playbooks import Directory, Playbook
from event_schemas.runs import PlaybookUsed
from infra.errors import WrongInput

DIRECTORY = "directory.yaml"
Document = TypeVar("Document", Playbook, Directory)


def load(folder: Path | None = None) -> tuple[Playbook, ...]:
    """Return all playbooks of *folder* (default: the reference playbooks), by name."""
    files = sorted(_folder(folder).glob("*.yaml"))
    return tuple(_read(path, Playbook) for path in files if path.name != DIRECTORY)


def load_directory(folder: Path | None = None) -> Directory:
    """Return the service directory beside the playbooks."""
    return _read(_folder(folder) / DIRECTORY, Directory)


def used(playbooks: tuple[Playbook, ...]) -> dict[tuple[str, str], PlaybookUsed]:
    """Return each playbook with content and digest as a run records it, by name and version."""
    out = {}
    for playbook in playbooks:
        content = playbook.model_dump(mode="json")
        digest = sha256(canonical(content)).hexdigest()
        out[playbook.name, playbook.version] = PlaybookUsed(
            name=playbook.name, version=playbook.version, digest=digest, content=content
        )
    return out


def _folder(folder: Path | None) -> Path:
    return folder if folder is not None else Path(str(resources.files("playbooks")))


def _read(path: Path, kind: type[Document]) -> Document:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        return kind.model_validate(document, strict=False)
    except (OSError, yaml.YAMLError) as error:
        raise WrongInput("PLAYBOOK_UNREADABLE", f"{path.name}: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise WrongInput("PLAN_SCHEMA", f"{path.name}: {where}: {first['msg']}") from error
