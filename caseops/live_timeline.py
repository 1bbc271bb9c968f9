"""The timeline of one run as its facts arrive: one more subscriber of the event log."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from event_schemas.alerts import AlertReceived
from event_schemas.codec import decode
from event_schemas.envelope import Envelope
from event_schemas.payload import Payload
from event_schemas.registry import read
from event_schemas.runs import RunCompleted
from event_schemas.strict_json import Malformed
from event_schemas.topics import EVENTS, full_name
from infra.kafka.tail import Tailed, Tailing, tail
from projections.case_view.fold import CASE_VIEW
from projections.projection import Place

Event = tuple[Envelope, Payload]


async def timeline(
    bootstrap: str, prefix: str, alerts: Sequence[Envelope]
) -> AsyncIterator[str]:
    """Yield the lines of the run that answers *alerts*, until its completion.

    Reads the log from its beginning: the run may have begun before anybody asked.
    """
    wanted = {alert.id for alert in alerts}
    topic = full_name(prefix, EVENTS.name)
    states: dict[str, Any] = {}
    shown: str | None = None
    async for record in tail(Tailing(bootstrap, topic, from_beginning=True)):
        event = _event(record)
        if event is None:
            continue
        envelope, payload = event
        key = envelope.partitionkey or ""
        before = states.get(key) or CASE_VIEW.initial(Place(key, 0, 0))
        after = states[key] = CASE_VIEW.fold(before, envelope, payload)
        if shown is None and _answers(payload, wanted):
            shown = key
        if key == shown:
            for entry in after["timeline"][len(before["timeline"]) :]:
                yield line(entry)
            if isinstance(payload, RunCompleted):
                return


def line(entry: dict[str, Any]) -> str:
    """Return one entry of a timeline as people read it."""
    return f"  {entry['time'][11:23]:<12}  {entry['who']:<14} {entry['what']}"


def _answers(payload: Payload, wanted: set[str]) -> bool:
    return isinstance(payload, AlertReceived) and payload.message.id in wanted


def _event(record: Tailed) -> Event | None:
    try:
        envelope = decode(record.headers, record.value)
        return envelope, read(envelope)
    except Malformed:
        # The projector parks it and counts it; a timeline just has no line for it.
        return None
