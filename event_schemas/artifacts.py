"""Artifacts: immutable bytes by SHA-256. Writers: specialist (stored), join engine (checked)."""

from event_schemas.payload import Name, Payload, Sha256


class ArtifactStored(Payload):
    """Bytes were frozen under their hash (ART-02, ART-05)."""

    artifact_uri: Name
    sha256: Sha256
    size: int
    media_type: Name
    schema_ref: Name
    producer: Name
    tool_call_id: Name
    retention: Name = "case"
    permission: Name = "tenant"
    late: bool = False


class ArtifactVerified(Payload):
    """The join found the bytes and they have the hash the evidence names (EVI-06)."""

    join_id: Name
    task_id: Name
    artifact_uri: Name
    sha256: Sha256


class ArtifactRejected(Payload):
    """The bytes are missing or have another hash (EVI-06)."""

    join_id: Name
    task_id: Name
    artifact_uri: Name
    expected_sha256: Sha256
    found_sha256: Sha256 | None
    reason: Name
