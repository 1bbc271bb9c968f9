"""The files of a local Kafka node, its kept layout, and the pinned jars."""

import tomllib
from pathlib import Path

import pytest

from infra import ports
from infra.errors import DependencyAway
from infra.kafka import broker_files, jars, layout
from infra.kafka.broker_files import Node

ALONE = (Node(1, 20001, 20002),)
THREE = (Node(1, 20001, 20002), Node(2, 20003, 20004), Node(3, 20005, 20006))


def settings(node: Node, nodes: tuple[Node, ...]) -> dict[str, str]:
    """Return the properties of *node* as a mapping."""
    text = broker_files.properties(node, nodes, Path("/data"))
    return dict(line.split("=", 1) for line in text.splitlines())


def test_every_listener_is_on_the_loopback() -> None:
    """Nobody outside the machine reaches a local broker."""
    found = settings(ALONE[0], ALONE)

    assert found["listeners"] == "PLAINTEXT://127.0.0.1:20001,CONTROLLER://127.0.0.1:20002"


def test_topics_are_never_created_by_accident() -> None:
    """A misspelled topic is an error, not a new topic."""
    assert settings(ALONE[0], ALONE)["auto.create.topics.enable"] == "false"


def test_one_node_comes_back_quickly() -> None:
    """A node that was killed does not wait long for its own former session."""
    assert settings(ALONE[0], ALONE)["broker.session.timeout.ms"] == "1000"


def test_three_nodes_vote_and_replicate() -> None:
    """Three nodes keep every record on three, two of which have to acknowledge."""
    found = settings(THREE[1], THREE)

    assert {
        "node.id": "2",
        "controller.quorum.voters": "1@127.0.0.1:20002,2@127.0.0.1:20004,3@127.0.0.1:20006",
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
    }.items() <= found.items()


def test_a_layout_is_kept(tmp_path: Path) -> None:
    """The same folder has the same cluster at the same ports."""
    first = layout.kept_in(tmp_path, count=3)

    assert first == layout.kept_in(tmp_path, count=3)


def test_a_taken_port_is_exchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that somebody else took in the meantime is given up, the others stay."""
    before = layout.kept_in(tmp_path, count=1)
    (node,) = before.nodes
    monkeypatch.setattr(ports, "is_free", lambda port: port != node.client_port)

    (after,) = before.on_free_ports().nodes

    assert after.client_port != node.client_port
    assert after.controller_port == node.controller_port


def test_a_folder_of_another_size_is_refused(tmp_path: Path) -> None:
    """A cluster of three is never started as one of one."""
    layout.kept_in(tmp_path, count=3)

    with pytest.raises(DependencyAway, match="KAFKA_OTHER_SIZE"):
        layout.kept_in(tmp_path, count=1)


def test_an_id_never_looks_like_an_option(tmp_path: Path) -> None:
    """The format tool would take a leading dash for an option."""
    ids = [layout.kept_in(tmp_path / str(n), count=1).cluster_id for n in range(100)]

    assert [] == [one for one in ids if one.startswith("-") or len(one) != 22]


def test_every_jar_has_its_digest() -> None:
    """The coordinates jgo reads and the digests we check name the same jars."""
    coordinates = tomllib.loads(jars.PINS.read_text())["dependencies"]["coordinates"]

    assert coordinates == list(jars.pinned())


def test_free_ports_differ() -> None:
    """No port is given out twice in one answer."""
    found = ports.free_ports(20)

    assert len(set(found)) == 20
