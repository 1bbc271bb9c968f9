"""What FastStream is given to parse a batch with: nothing of a record can make it vanish."""

from dataclasses import replace
from typing import Any


async def raw_batch(records: Any, original: Any) -> Any:  # noqa: ANN401 - the library's own shapes
    """Return the message of *records*, their headers hidden from the library's parser."""
    message = await original(tuple(replace(record, headers=()) for record in records))
    message.raw_message = records
    return message


async def undecoded(message: Any, _original: Any) -> Any:  # noqa: ANN401
    """Return the records of *message* as the client gave them."""
    return list(message.raw_message)
