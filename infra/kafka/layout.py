"""What a local cluster keeps from start to start: its id and its nodes' ports."""

import base64
import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from infra import ports
from infra.errors import DependencyAway
from infra.kafka.broker_files import Node


@dataclass(frozen=True)
class Layout:
    """A cluster's id and its nodes, numbered from 1."""

    cluster_id: str
    nodes: tuple[Node, ...]

    @property
    def ids(self) -> set[int]:
        """Return the ids of all nodes."""
        return {node.id for node in self.nodes}

    def on_free_ports(self) -> "Layout":
        """Return the layout with each port that somebody else took exchanged for a free one."""

        def kept(port: int) -> int:
            return port if ports.is_free(port) else ports.free_ports(1)[0]

        nodes = (
            Node(n.id, kept(n.client_port), kept(n.controller_port)) for n in self.nodes
        )
        return Layout(self.cluster_id, tuple(nodes))

    def save(self, folder: Path) -> None:
        """Keep the layout in *folder*, whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / "cluster.json.new"
        draft.write_text(json.dumps(asdict(self), indent=1))
        draft.replace(folder / "cluster.json")


def kept_in(folder: Path, *, count: int) -> Layout:
    """Return the layout kept in *folder*; a new one of *count* nodes is made and kept."""
    file = folder / "cluster.json"
    if not file.exists():
        layout = _new(count)
        layout.save(folder)
        return layout
    fields = json.loads(file.read_text())
    nodes = tuple(Node(**node) for node in fields["nodes"])
    if len(nodes) != count:
        raise DependencyAway(
            "KAFKA_OTHER_SIZE",
            f"{folder} holds a cluster of {len(nodes)} nodes, not of {count}",
            "Use another data folder.",
        )
    return Layout(fields["cluster_id"], nodes)


def _new(count: int) -> Layout:
    picked = ports.free_ports(2 * count)
    numbers = range(1, count + 1)
    nodes = tuple(map(Node, numbers, picked[::2], picked[1::2]))
    # An id must not start with a dash: the format tool takes it for an option.
    cluster_id = base64.urlsafe_b64encode(b"\x01" + secrets.token_bytes(15)).decode()
    return Layout(cluster_id.rstrip("="), nodes)
