"""Events put into the store as the services would have written them."""

from collections.abc import Iterable

import psycopg

from event_schemas.envelope import Envelope
from event_schemas.payload import Payload

_INSERT = """
insert into caseops.events (key, sequence, stream, streamversion, id, type, source, writer,
    time, tenant, runid, correlationid, causationid, dataschema, data)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, null, %s, %s)
"""


async def store(url: str, events: Iterable[tuple[Envelope, Payload]]) -> None:
    """Append *events* to the store at *url*; nothing of it goes to the outbox."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        for envelope, _ in events:
            await connection.execute(_INSERT, _values(envelope))


def _values(envelope: Envelope) -> tuple[object, ...]:
    return (
        envelope.partitionkey,
        envelope.sequence,
        envelope.subject,
        envelope.streamversion,
        envelope.id,
        envelope.type,
        envelope.source,
        envelope.source.rpartition("/")[2],
        envelope.time,
        envelope.tenantid,
        envelope.runid,
        envelope.correlationid,
        envelope.dataschema,
        envelope.data,
    )
