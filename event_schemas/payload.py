"""What every payload on a topic is: frozen, strict, free of NaN and of NUL."""

import json
from math import isfinite
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    PlainSerializer,
    StringConstraints,
)


def _clean(text: str) -> str:
    if "\x00" in text:
        raise ValueError("BAD_TEXT: NUL character")
    return text


def _clean_json(value: object) -> object:
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            _clean(item)
        elif isinstance(item, float) and not isfinite(item):
            raise ValueError("BAD_NUMBER: not finite")
        elif isinstance(item, dict):
            stack.extend((*item, *item.values()))
        elif isinstance(item, list | tuple):
            stack.extend(item)
    return value


Text = Annotated[str, AfterValidator(_clean)]
Name = Annotated[
    str, StringConstraints(min_length=1, max_length=200), AfterValidator(_clean)
]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Instant = Annotated[
    AwareDatetime,
    PlainSerializer(
        lambda at: at.isoformat().replace("+00:00", "Z"), return_type=str, when_used="json"
    ),
]
Json = Annotated[Any, AfterValidator(_clean_json)]


class Payload(BaseModel):
    """Data of one event or command; unknown fields of a known version are ignored."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False, extra="ignore")


class Contract(BaseModel):
    """A strict business document (delegation, result, playbook): unknown fields are refused."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False, extra="forbid")


def canonical(document: Json) -> bytes:
    """Return *document* as compact UTF-8 JSON with sorted keys, for digests."""
    return json.dumps(
        document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode()
