"""The jars of Apache Kafka: pinned in `jgo.toml`, fetched once, checked at each start."""

import gc
import hashlib
import tomllib
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import stamina

from infra import local_extra
from infra.errors import DependencyAway
from infra.file_lock import exclusive

PINS = Path(__file__).with_name("jgo.toml")
Progress = Callable[[str], None]


def default_cache() -> Path:
    """Return the Maven repository of this user: jars other tools fetched are used too."""
    return Path.home() / ".m2" / "repository"


def pinned() -> dict[str, str]:
    """Return each coordinate (group:artifact:version) with the SHA-256 of its jar."""
    digests: dict[str, str] = tomllib.loads(PINS.read_text())["sha256"]
    return digests


def resolve_jars(
    cache_dir: Path | None = None, on_progress: Progress | None = None
) -> list[Path]:
    """Return the paths of all jars, fetching those *cache_dir* lacks; blocking.

    *cache_dir* is laid out like a Maven repository (default: the user's own). A jar with
    other bytes than the pinned ones, as a broken download leaves it, is fetched again. Any
    number of callers may ask at the same time: one fetches, the others wait for it.
    """
    cache = cache_dir or default_cache()
    digests = pinned()
    paths = {coordinate: _path(cache, coordinate) for coordinate in digests}
    if _unusable(paths, digests):
        with exclusive(cache / ".caseops-kafka.lock"):
            missing = _unusable(paths, digests)
            _fetch(cache, missing, on_progress or (lambda _: None))
            _refuse_changed(_unusable(paths, digests))
    return list(paths.values())


def _path(cache: Path, coordinate: str) -> Path:
    group, artifact, version = coordinate.split(":")
    return cache.joinpath(*group.split("."), artifact, version, f"{artifact}-{version}.jar")


def _unusable(paths: dict[str, Path], digests: dict[str, str]) -> dict[str, Path]:
    return {
        coordinate: path
        for coordinate, path in paths.items()
        if not path.is_file() or _digest(path) != digests[coordinate]
    }


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(cache: Path, missing: dict[str, Path], on_progress: Progress) -> None:
    # Each jar by itself: resolving them as one environment would also read some 200 POMs and,
    # on a machine without Java, fetch a whole JDK just to sort them into folders.
    maven = local_extra.maven(cache)

    @stamina.retry(on=Exception, attempts=3)
    def fetch(coordinate: str, path: Path) -> None:
        group, artifact, version = coordinate.split(":")
        path.unlink(missing_ok=True)
        maven.project(group, artifact).at_version(version).artifact().resolve()

    def say(number: int) -> None:
        on_progress(f"Downloading Apache Kafka: {number} of {len(missing)} jars")

    say(0)
    with ThreadPoolExecutor(max_workers=6) as pool:
        jobs = [pool.submit(fetch, *item) for item in missing.items()]
        for number, job in enumerate(as_completed(jobs), start=1):
            if job.exception() is not None:
                pool.shutdown(cancel_futures=True)
                raise _jars_away(f"{job.exception()}") from job.exception()
            say(number)
    _drop_connections()


def _drop_connections() -> None:
    """Collect what jgo leaves to the garbage collector, which would warn at a later moment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def _refuse_changed(unusable: dict[str, Path]) -> None:
    if unusable:
        names = ", ".join(sorted(unusable))
        raise _jars_away(f"the bytes are not the pinned ones: {names}")


def _jars_away(reason: str) -> DependencyAway:
    return DependencyAway(
        "KAFKA_JARS_AWAY",
        f"the jars of Apache Kafka cannot be fetched: {reason}",
        "Check the way to repo.maven.apache.org, or set CASEOPS_KAFKA_BOOTSTRAP to use"
        " a running Kafka.",
    )
