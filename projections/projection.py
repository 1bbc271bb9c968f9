"""What a view is: a fold of the log by key, and the rows that show a folded key. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from event_schemas.envelope import Envelope
from event_schemas.payload import Payload

FOLDED = "folded"
"""Under this word a projector counts, beside its skips, the records it folded."""


@dataclass(frozen=True, slots=True)
class Place:
    """The log key of a state, and where in the log its first event is (at or after it)."""

    key: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Row:
    """One row to write: its table, and its columns by name, as JSON values."""

    table: str
    columns: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Projection:
    """A view as data; the state of one key is JSON, so that it can be stored and read back.

    `rows(before, after)` returns only the rows that changed between the two states.
    """

    view: str
    reads: frozenset[str]
    initial: Callable[[Place], Any]
    fold: Callable[[Any, Envelope, Payload], Any]
    rows: Callable[[Any, Any], Sequence[Row]]
    owns: frozenset[str] = frozenset()
