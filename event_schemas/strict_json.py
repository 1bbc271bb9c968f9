"""JSON as the published language takes it: UTF-8, finite numbers, clean text. Pure."""

import json
import re
from math import isfinite
from typing import Any

from event_schemas.payload import Json

MAX_DEPTH = 100
_SUSPICIOUS = re.compile(r"\\u(0000|[dD][89a-fA-F])")


class Malformed(Exception):
    """The record is not an event we can read; *code* is stable, *detail* is for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


def parse_json(data: bytes) -> Json:
    """Return the JSON value in *data*; refuse NaN, Infinity, NUL and lone surrogates.

    Nesting is bounded, so that whatever is read here can be written and read again.
    """
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise Malformed("BAD_TEXT", "data is not UTF-8") from error
    except RecursionError as error:
        raise Malformed("SCHEMA_INVALID", "data is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise Malformed("SCHEMA_INVALID", f"data is not JSON: {error.msg}") from error
    except ValueError as error:
        raise Malformed("BAD_NUMBER", "a number is out of range") from error
    _check_values(
        value, look_at_text=_SUSPICIOUS.search(text) is not None or "\x00" in text
    )
    return value


def check_text(text: str) -> None:
    """Raise `Malformed` (`BAD_TEXT`) when *text* holds NUL or a lone surrogate."""
    if "\x00" in text:
        raise Malformed("BAD_TEXT", "NUL character in text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Malformed("BAD_TEXT", "lone surrogate in text") from error


def _no_constant(name: str) -> float:
    raise Malformed("BAD_NUMBER", f"{name} is not a JSON number")


def _check_values(value: Json, *, look_at_text: bool) -> None:
    depth, level = 0, [value]
    while level:
        if depth > MAX_DEPTH:
            raise Malformed("SCHEMA_INVALID", "data is nested too deeply")
        depth, level = depth + 1, _next_level(level, look_at_text=look_at_text)


def _next_level(level: list[Any], *, look_at_text: bool) -> list[Any]:
    """Return what the containers of *level* hold; check everything else."""
    below: list[Any] = []
    for item in level:
        if isinstance(item, dict):
            below.extend(item.values())
            if look_at_text:
                below.extend(item)
        elif isinstance(item, list):
            below.extend(item)
        elif isinstance(item, float):
            _check_number(item)
        elif look_at_text and isinstance(item, str):
            check_text(item)
    return below


def _check_number(number: float) -> None:
    if not isfinite(number):
        raise Malformed("BAD_NUMBER", "a number is out of range")
