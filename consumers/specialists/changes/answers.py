"""What the change tools answer: records as they stand in the log, and cluster state as text."""

from pydantic import AwareDatetime, BaseModel, ConfigDict


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class Change(_Answer):
    """One change, audit or cluster-event record."""

    ts: AwareDatetime
    ts_precision: str
    source: str
    kind: str
    action: str
    target: str
    service: str
    actor: str
    reason: str
    severity: str
    summary: str


class ChangeList(_Answer):
    """Answer of `list_changes`."""

    rows_scanned: int
    truncated: bool
    records: tuple[Change, ...]


class Output(_Answer):
    """Recorded output of one read-only cluster command."""

    name: str
    text: str


class ClusterState(_Answer):
    """Answer of `read_cluster_state`."""

    rows_scanned: int
    outputs: tuple[Output, ...]
