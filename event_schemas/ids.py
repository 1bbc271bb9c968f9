"""Derived identifiers: the same decision recorded twice carries the same id."""

from functools import lru_cache
from uuid import UUID, uuid5

NAMESPACE = UUID("6b1f0c52-7a52-5c1e-9a0d-0c5e0f5ca5e0")


def derived_id(*parts: object) -> str:
    """Return the UUID (text) that stands for *parts*, in order."""
    return str(uuid5(NAMESPACE, "/".join(str(part) for part in parts)))


def event_id(stream: str, streamversion: int) -> str:
    """Return the id of the event at *streamversion* (from 1) of *stream*."""
    return derived_id(stream, streamversion)


def run_id(stream: str, streamversion: int) -> str:
    """Return the run id minted by the input fact at *streamversion* of *stream*."""
    return derived_id("run", stream, streamversion)


@lru_cache(maxsize=4096)
def trace_id(run: str) -> str:
    """Return the W3C trace id (32 hex digits) that all messages of *run* share."""
    return UUID(derived_id("trace", run)).hex


def traceparent(run: str, event: str) -> str:
    """Return the W3C traceparent of the event *event* inside the trace of *run*."""
    return f"00-{trace_id(run)}-{event[:8]}{event[9:13]}{event[14:18]}-01"
