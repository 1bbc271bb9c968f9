"""Folded stream states by version, and the facts drafted on top of them."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from consumers.decider import Decider, Intent, Message
from event_schemas.codec import MAX_DATA_BYTES, encode_headers
from event_schemas.envelope import Envelope
from event_schemas.ids import derived_id, event_id, traceparent
from event_schemas.payload import Payload
from event_schemas.registry import BY_PAYLOAD, EventType, read
from event_schemas.topics import full_name
from infra.database import Connection
from infra.errors import Poison
from infra.event_log import Fact, load_streams
from infra.unit_of_work import Outgoing

KEPT_STREAMS = 2_000

State = tuple[int, Any]


class StreamStates:
    """The states of recently used streams, each with the version it is folded to."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self._kept: OrderedDict[str, State] = OrderedDict()

    def get(self, stream: str) -> State:
        """Return version and state of *stream*; a stream nobody wrote is at version 0."""
        return self._kept.get(stream) or (0, self._decider.initial())

    def unknown(self, streams: Iterable[str]) -> set[str]:
        """Return those of *streams* that are not kept."""
        return {stream for stream in streams if stream not in self._kept}

    async def load(self, connection: Connection, streams: Iterable[str]) -> None:
        """Bring *streams* up to date from the store, in one statement."""
        after = {stream: self.get(stream)[0] for stream in streams}
        if not after:
            return
        for stream, events in (await load_streams(connection, after)).items():
            version, state = self.get(stream)
            for event in events:
                state = self._decider.evolve(state, read(event.envelope))
                version = event.envelope.streamversion or version
            self._kept[stream] = (version, state)

    def keep(self, states: dict[str, State]) -> None:
        """Keep *states* after their facts were committed; forget the least used ones."""
        for stream, state in states.items():
            self._kept[stream] = state
            self._kept.move_to_end(stream)
        while len(self._kept) > KEPT_STREAMS:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget everything, after a write that did not go through."""
        self._kept.clear()


@dataclass(slots=True)
class Drafts:
    """Facts and orders decided in one batch, not yet written."""

    decider: Decider
    base: StreamStates
    prefix: str
    now: datetime
    facts: list[Fact] = field(default_factory=list)
    orders: list[Outgoing] = field(default_factory=list)
    payloads: list[Payload] = field(default_factory=list)
    states: dict[str, State] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)

    def add(self, message: Message, intent: Intent) -> Sequence[Payload]:
        """Decide *intent* and draft what follows; return the payloads."""
        version, state = self.states.get(intent.stream) or self.base.get(intent.stream)
        self.read.setdefault(intent.stream, version)
        decided = self.decider.decide(state, intent.command, intent.observed, self.now)
        last = message.envelope.id
        for index, payload in enumerate(decided):
            entry = BY_PAYLOAD[type(payload)]
            if entry.kind == "command":
                self._order(entry, payload, intent, derived_id(last, index))
                continue
            version += 1
            state = self.decider.evolve(state, payload)
            last = self._fact(entry, payload, intent, (version, message.envelope))
        self.payloads += decided
        self.states[intent.stream] = (version, state)
        return decided

    def mark(self) -> tuple[int, int, int, dict[str, State]]:
        """Return where a message's drafts begin."""
        return len(self.facts), len(self.orders), len(self.payloads), dict(self.states)

    def rewind(self, mark: tuple[int, int, int, dict[str, State]]) -> None:
        """Drop what was drafted since *mark*."""
        del self.facts[mark[0] :], self.orders[mark[1] :], self.payloads[mark[2] :]
        self.states = mark[3]

    def guards(self) -> dict[str, int]:
        """Return streams that were read but not written, with the version they had."""
        written = {fact.stream for fact in self.facts}
        return {stream: at for stream, at in self.read.items() if stream not in written}

    def _fact(
        self, entry: EventType, payload: Payload, intent: Intent, at: tuple[int, Envelope]
    ) -> str:
        version, cause = at
        identity = event_id(intent.stream, version)
        run = intent.run_id
        fact = Fact(
            id=identity,
            key=intent.key,
            stream=intent.stream,
            streamversion=version,
            type=entry.name,
            writer=self.decider.writer,
            time=self.now,
            tenant=intent.tenant,
            runid=run,
            correlationid=intent.key,
            causationid=cause.id,
            traceparent=traceparent(intent.key, identity),
            planversion=getattr(payload, "plan_version", None),
            dataschema=entry.dataschema,
            data=_bytes(payload),
            topics=tuple(full_name(self.prefix, topic) for topic in entry.topics),
        )
        self.facts.append(fact)
        return identity

    def _order(
        self, entry: EventType, payload: Payload, intent: Intent, identity: str
    ) -> None:
        envelope = Envelope(
            id=identity,
            source=f"/caseops/{self.decider.writer}",
            type=entry.name,
            time=self.now,
            data=_bytes(payload),
            dataschema=entry.dataschema,
            tenantid=intent.tenant,
            runid=intent.run_id,
            correlationid=intent.key,
            causationid=self.facts[-1].id if self.facts else None,
            partitionkey=intent.key,
            planversion=getattr(payload, "plan_version", None),
            traceparent=traceparent(intent.key, identity),
        )
        addressee = getattr(payload, "addressee")  # noqa: B009 - every command has one
        self.orders.append(
            Outgoing(
                kind="command",
                order_key=intent.key.encode(),
                topic=full_name(self.prefix, f"{entry.topics[0]}.{addressee}"),
                message_key=intent.key.encode(),
                headers=encode_headers(envelope),
                value=envelope.data,
            )
        )


def _bytes(payload: Payload) -> bytes:
    data = payload.model_dump_json().encode()
    if len(data) > MAX_DATA_BYTES:
        raise Poison("TOO_LARGE", f"{type(payload).__name__} has {len(data)} bytes")
    return data
