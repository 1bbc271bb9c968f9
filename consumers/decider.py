"""What a deciding service is: four pure functions and the messages it reads. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from event_schemas.envelope import Envelope
from event_schemas.payload import Payload
from event_schemas.registry import read


@dataclass(frozen=True, slots=True)
class Message:
    """One decoded record: *topic* is the short name, *digest* the SHA-256 of its value."""

    envelope: Envelope
    payload: Payload
    topic: str
    partition: int
    offset: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Intent:
    """One command, the stream that decides on it, and the log key its facts travel under.

    *opens* says that the command may start the stream, so that an unknown stream is new.
    """

    command: Any
    stream: str
    key: str
    tenant: str
    run_id: str | None
    observed: Any = None
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Decider:
    """A service as data; `decide` returns facts and orders, never performs anything."""

    writer: str
    reads: frozenset[str]
    react: Callable[[Message], Sequence[Intent]]
    decide: Callable[[Any, Any, Any, datetime], Sequence[Payload]]
    evolve: Callable[[Any, Payload], Any]
    initial: Callable[[], Any]
    parse: Callable[[Envelope], Payload] = read
    owns: frozenset[str] = frozenset()
