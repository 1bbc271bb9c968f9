"""One HTTP read of a telemetry backend: its refusals become the refusals of a source."""

from collections.abc import Mapping
from typing import Any

import httpx2

from consumers.specialists.telemetry import RateLimited, SourceAway

_TOO_MANY = 429
_SHOWN = 200


async def read_json(
    client: httpx2.AsyncClient, path: str, parameters: Mapping[str, str]
) -> dict[str, Any]:
    """Return the JSON object at *path*; a refusal or a fault raises a source error."""
    try:
        answer = await client.post(path, data=dict(parameters))
    except httpx2.TransportError as error:
        raise SourceAway(f"{path}: {type(error).__name__}") from error
    if answer.status_code == _TOO_MANY:
        raise RateLimited(path)
    if not answer.is_success:
        raise SourceAway(f"{path}: HTTP {answer.status_code} {answer.text[:_SHOWN]}")
    return _object(path, answer)


def _object(path: str, answer: httpx2.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError as error:
        raise SourceAway(f"{path}: the answer is not JSON") from error
    if not isinstance(body, dict) or body.get("status") != "success":
        raise SourceAway(f"{path}: the answer is no success")
    return body
