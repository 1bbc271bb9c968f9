"""What a specialist records about one task, as facts of the task's stream."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from consumers.specialists.orders import WRITER, stream_of
from consumers.specialists.work_items import WorkItem
from event_schemas.codec import MAX_DATA_BYTES
from event_schemas.ids import event_id, traceparent
from event_schemas.payload import Payload
from event_schemas.registry import BY_PAYLOAD
from event_schemas.topics import full_name
from infra.errors import Poison
from infra.event_log import Fact


@dataclass(frozen=True, slots=True)
class Recorder:
    """Makes facts; all of them are caused by the order that began the task."""

    prefix: str
    now: datetime

    def facts(
        self, item: WorkItem, version: int, payloads: Sequence[Payload]
    ) -> Iterator[Fact]:
        """Yield *payloads* as the facts that follow *version* of the task's stream."""
        stream = stream_of(item.task_id)
        for number, payload in enumerate(payloads, start=version + 1):
            identity = event_id(stream, number)
            entry = BY_PAYLOAD[type(payload)]
            yield Fact(
                id=identity,
                key=item.key,
                stream=stream,
                streamversion=number,
                type=entry.name,
                writer=WRITER,
                time=self.now,
                tenant=item.tenant,
                runid=item.run_id,
                correlationid=item.key,
                causationid=item.order_id,
                traceparent=traceparent(item.key, identity),
                planversion=getattr(payload, "plan_version", None),
                dataschema=entry.dataschema,
                data=_bytes(payload),
                topics=tuple(full_name(self.prefix, topic) for topic in entry.topics),
            )


def _bytes(payload: Payload) -> bytes:
    data = payload.model_dump_json().encode()
    if len(data) > MAX_DATA_BYTES:
        raise Poison("TOO_LARGE", f"{type(payload).__name__} has {len(data)} bytes")
    return data
