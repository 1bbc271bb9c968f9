"""The envelope: CloudEvents attributes as CaseOps uses them, around exact data bytes."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Envelope:
    """One CloudEvent: attributes, the extensions of ours, and the data as it was on the wire.

    *time* is UTC, None when an outside sender gave none; *sequence* counts within *partitionkey* (contiguous from 1), *streamversion*
    within *subject*; both are None on messages that are not on the event log.
    """

    id: str
    source: str
    type: str
    time: datetime | None
    data: bytes
    subject: str | None = None
    dataschema: str | None = None
    tenantid: str | None = None
    runid: str | None = None
    correlationid: str | None = None
    causationid: str | None = None
    partitionkey: str | None = None
    sequence: int | None = None
    streamversion: int | None = None
    planversion: int | None = None
    traceparent: str | None = None
    tracestate: str | None = None


EXTENSIONS = (
    "tenantid",
    "runid",
    "correlationid",
    "causationid",
    "partitionkey",
    "sequence",
    "streamversion",
    "planversion",
    "traceparent",
    "tracestate",
)
COUNTERS = frozenset({"sequence", "streamversion", "planversion"})
SEQUENCE_DIGITS = 12
