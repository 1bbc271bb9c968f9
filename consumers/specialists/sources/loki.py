"""Log lines from a Loki server, through its HTTP API."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from consumers.specialists.sources.http_reads import read_json
from consumers.specialists.sources.prometheus import filled
from consumers.specialists.telemetry import LogLine, LogLines, Scope

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PAGE = 5000

Entry = tuple[int, Mapping[str, str], str, Mapping[str, str]]


class Loki:
    """Reads the lines of the granted services page by page, oldest first."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        *,
        selector: str = '{service=~"$services"}',
        page: int = _PAGE,
    ) -> None:
        self._client = client
        self._selector = selector
        self._page = page

    async def logs(self, scope: Scope) -> LogLines:
        """Return the lines in *scope*; warnings of the server are named as missing."""
        start, end = _nanoseconds(scope.window.start), _nanoseconds(scope.window.end)
        rows: list[Entry] = []
        warned: list[str] = []
        while len(rows) <= scope.limit:
            body = await self._query(scope, start, end)
            warned += [f"loki: {text}" for text in body.get("warnings") or ()]
            page = sorted(_entries(body["data"]["result"]), key=lambda entry: entry[0])
            seen = {_identity(entry) for entry in rows if entry[0] == start}
            rows += [entry for entry in page if _identity(entry) not in seen]
            if len(page) < self._page:
                break
            # The next page begins at the last instant again, for lines that share it; when
            # a whole page shares one instant, no page can show the rest of it.
            last = page[-1][0]
            start = last if last > start else last + 1
        lines = tuple(_line(entry) for entry in rows[: scope.limit])
        return LogLines(lines, tuple(dict.fromkeys(warned)), len(rows) > scope.limit)

    async def _query(self, scope: Scope, start: int, end: int) -> dict[str, Any]:
        return await read_json(
            self._client,
            "/loki/api/v1/query_range",
            {
                "query": filled(self._selector, scope.services, {}),
                "start": str(start),
                "end": str(end + 1),
                "limit": str(self._page),
                "direction": "forward",
            },
        )


def _entries(streams: Iterable[Mapping[str, Any]]) -> Iterator[Entry]:
    for stream in streams:
        for at, line, *more in stream["values"]:
            yield int(at), stream["stream"], line, more[0] if more else {}


def _identity(entry: Entry) -> tuple[int, str, str]:
    return entry[0], json.dumps(entry[1], sort_keys=True), entry[2]


def _nanoseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1) * 1000


def _line(entry: Entry) -> LogLine:
    at, labels, text, metadata = entry
    told = {**labels, **metadata, **_fields(text)}
    return LogLine(
        ts=_EPOCH + timedelta(microseconds=at // 1000),
        service=str(labels.get("service") or labels.get("service_name") or ""),
        pod=str(told.get("pod") or ""),
        level=str(told.get("level") or told.get("detected_level") or "UNKNOWN").upper(),
        logger=str(told.get("logger") or ""),
        trace_id=str(told.get("trace_id") or ""),
        span_id=str(told.get("span_id") or ""),
        message=str(told.get("msg") or told.get("message") or text),
    )


def _fields(text: str) -> Mapping[str, Any]:
    """Return the fields of a line that is itself a JSON object, none of any other line."""
    if not text.startswith("{"):
        return {}
    try:
        fields = json.loads(text)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}
