"""From published alerts to their run and its judgement, through the topics like everybody."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex
from time import monotonic
from typing import Any

from caseops.addresses import Addresses
from event_schemas.codec import parse_time
from event_schemas.envelope import Envelope
from infra.database import Connection
from infra.dead_letters import reason_parked
from infra.errors import NotFound, WrongInput
from producers.publish import key_of, publish
from projections.case_view import queries

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a run to appear, and for its end."""

    to_appear: float = 60.0
    to_end: float = 600.0


def new_tag() -> str:
    """Return a text that no earlier investigation used."""
    return token_hex(8)


async def begin(at: Addresses, alerts: Sequence[Envelope], patience: Patience) -> str:
    """Publish *alerts* and return the id of the run that answers them; the first one opens it."""
    first = alerts[0]
    await publish(at.kafka, at.prefix, alerts, key=key_of(first))
    data = json.loads(first.data)
    signal = {
        "tenant": first.tenantid,
        "fingerprint": data["fingerprint"],
        "starts_at": parse_time(data["starts_at"]),
    }
    async with at.connection() as connection:
        until = monotonic() + patience.to_appear
        while monotonic() < until:
            run = await queries.run_of_signal(connection, signal)
            if run is not None:
                return run
            await _unless_parked(connection, first)
            await asyncio.sleep(POLL_SECONDS)
    hint = "`caseops doctor` tells whether intake runs; `caseops dlq list` what it parked."
    raise NotFound("NO_RUN", "no run was opened for the alert", hint)


async def _unless_parked(connection: Connection, alert: Envelope) -> None:
    reason = await reason_parked(connection, alert.source, alert.id)
    if reason is not None:
        raise WrongInput(reason, "intake parked the alert", "See `caseops dlq list`.")


async def ended(at: Addresses, run: str, patience: Patience) -> dict[str, Any]:
    """Wait for the end of *run* and return its document."""
    async with at.connection() as connection:
        until = monotonic() + patience.to_end
        while monotonic() < until:
            if await queries.ended(connection, run):
                return await queries.show(connection, run) or {}
            await asyncio.sleep(POLL_SECONDS)
    hint = f"`caseops show {run}` shows how far it is."
    raise NotFound("NOT_ENDED", f"run {run} did not end within {patience.to_end:g} s", hint)
