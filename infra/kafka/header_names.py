"""Header names that are not UTF-8: the broker takes them, the client library stumbles over them.

The client raises in the middle of a batch and then steps over the rest of it: good records
behind the bad one would vanish. Here such a batch is read once more, names decoded leniently.
"""

from collections.abc import Iterator
from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import MemoryRecords, _MemoryRecordsPy


def read_any() -> None:
    """Let the consumers of this process read any header name, U+FFFD for what is not text."""
    fetcher.MemoryRecords = _Records


class _Records:
    """The batches of one fetched partition, as the client's own class gives them."""

    def __init__(self, data: bytes) -> None:
        self._inner = MemoryRecords(data)
        self._raw = _MemoryRecordsPy(data)
        self.size_in_bytes = self._inner.size_in_bytes
        self.has_next = self._inner.has_next

    def next_batch(self) -> "_Batch":
        raw = self._raw._next_slice
        self._raw._cache_next()
        return _Batch(self._inner.next_batch(), raw)


class _Batch:
    """One batch; it is decoded at once, so that a stumble leaves nothing half read."""

    def __init__(self, inner: Any, raw: Any) -> None:  # noqa: ANN401 - aiokafka has no types
        self._inner = inner
        self._raw = raw

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._inner, name)

    def __next__(self) -> Any:  # noqa: ANN401
        return next(self._inner)

    def __iter__(self) -> Iterator[Any]:
        try:
            return iter(list(self._inner))
        except UnicodeDecodeError:
            return iter(_leniently(self._raw))


def _leniently(raw: Any) -> list[Any]:  # noqa: ANN401
    batch = _DefaultRecordBatchPy(raw)
    batch._maybe_uncompress()
    batch._buffer = _Lenient(batch._buffer)
    return list(batch)


class _Lenient(bytearray):
    """Bytes whose parts decode to text whatever they hold."""

    def __getitem__(self, place: Any) -> Any:  # noqa: ANN401
        part = super().__getitem__(place)
        return _Lenient(part) if isinstance(place, slice) else part

    def decode(self, encoding: str = "utf-8", errors: str = "replace") -> str:
        """Return the text, U+FFFD for what is none."""
        return super().decode(encoding, errors)
