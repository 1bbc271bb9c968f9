"""Fetching the jars, from a Maven repository that this test serves."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from jgo.maven import MavenContext

from infra import local_extra
from infra.errors import DependencyAway
from infra.kafka import jars


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the folder that is served as the one Maven repository; it starts empty."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        remote = {"central": f"http://127.0.0.1:{server.server_port}"}
        monkeypatch.setattr(
            local_extra,
            "maven",
            lambda cache: MavenContext(repo_cache=cache, remote_repos=remote),
        )
        yield folder
        server.shutdown()


def place(folder: Path, *but: str) -> dict[str, Path]:
    """Put all jars into *folder* as links, except those of the artifacts in *but*."""
    placed = {}
    for jar in jars.resolve_jars():
        copy = folder / jar.relative_to(jars.default_cache())
        placed[jar.parent.parent.name] = copy
        if jar.parent.parent.name not in but:
            copy.parent.mkdir(parents=True)
            copy.symlink_to(jar)
    return placed


@pytest.fixture(autouse=True)
def fetched() -> None:
    """Have the jars in the user's own cache before a test turns elsewhere."""
    jars.resolve_jars()


def test_what_is_missing_or_broken_is_fetched(tmp_path: Path, served: Path) -> None:
    """A jar that is not there and one that is cut short are fetched, no other."""
    everything = place(tmp_path / "all")
    cached = place(tmp_path / "cache", "lz4-java", "slf4j-api")
    cached["slf4j-api"].parent.mkdir(parents=True)
    cached["slf4j-api"].write_bytes(b"half a")
    served.rmdir()
    (tmp_path / "all").rename(served)
    said: list[str] = []

    found = jars.resolve_jars(tmp_path / "cache", said.append)

    assert (list(cached.values()), len(everything)) == (found, len(found))
    assert said[-1] == "Downloading Apache Kafka: 2 of 2 jars"


def test_other_bytes_than_the_pinned_are_refused(tmp_path: Path, served: Path) -> None:
    """A repository that answers with something else does not get its code run."""
    offered = place(served, "lz4-java")["lz4-java"]
    offered.parent.mkdir(parents=True)
    offered.write_bytes(b"something else")
    place(tmp_path / "cache", "lz4-java")

    with pytest.raises(DependencyAway, match="not the pinned ones"):
        jars.resolve_jars(tmp_path / "cache")


def test_an_unreachable_repository_is_said(tmp_path: Path, served: Path) -> None:
    """Without the jars and without a way to them, the error says what to do."""
    place(tmp_path / "cache", "lz4-java")

    with pytest.raises(DependencyAway) as raised:
        jars.resolve_jars(tmp_path / "cache")
    assert "CASEOPS_KAFKA_BOOTSTRAP" in raised.value.hint
