"""Evidence: what one answer of a tool proves, and how it was obtained (EVI-01). Pure."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from consumers.specialists.capabilities import Tool
from consumers.specialists.grants import ANY, services_of
from consumers.specialists.questions import ToolCall
from event_schemas.delegations import Delegation
from event_schemas.payload import Json, canonical
from event_schemas.results import Evidence, EvidenceScope

_NUL = b"\\u0000"
MARK = "�"


@dataclass(frozen=True, slots=True)
class Reading:
    """One answered call: which, when, under which name, and the hash of its frozen answer."""

    call: ToolCall
    tool: Tool
    tool_call_id: str
    evidence_id: str
    observed_at: datetime
    sha256: str
    uri: str
    rows: int


def evidence_of(reading: Reading, delegation: Delegation, tenant: str) -> Evidence:
    """Return the evidence; an answer without any record supports nothing."""
    return Evidence(
        evidence_id=reading.evidence_id,
        kind=reading.tool.kind,
        source=f"{reading.tool.source}.{tenant}",
        query_fingerprint=fingerprint(reading.call),
        scope=EvidenceScope(
            tenant=tenant,
            services=_services(reading.call, delegation),
            time_range=delegation.scope.time_range,
        ),
        observed_at=reading.observed_at,
        artifact_uri=reading.uri,
        content_hash=reading.sha256,
        quality="passed",
        tool_call_id=reading.tool_call_id,
        trace_id=delegation.trace_id,
        supports_types=reading.tool.supports if reading.rows else (),
    )


def _services(call: ToolCall, delegation: Delegation) -> tuple[str, ...]:
    named = tuple(service for service in services_of(call) if service != ANY)
    return named or tuple(each for each in delegation.scope.services if each != ANY)


def fingerprint(call: ToolCall) -> str:
    """Return the hash that the same question to the same tool always has."""
    return sha256(canonical({"tool": call.tool, "arguments": call.arguments})).hexdigest()


def frozen_form(content: dict[str, Json]) -> tuple[dict[str, Json], bytes]:
    """Return *content* and its canonical bytes, text that no message can carry replaced."""
    try:
        data = canonical(content)
    except UnicodeEncodeError:
        data = _NUL
    if _NUL not in data:
        return content, data
    clean = _clean(content)
    return clean, canonical(clean)


def _clean(value: Json) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return value.replace("\x00", MARK).encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(name): _clean(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return value
