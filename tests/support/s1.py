"""The payment incident S1 over the twin: production deciders, scripted specialists."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, cast

from caseops import playbooks
from consumers.deadline_clock import app as clock
from consumers.intake.app import TOPICS as INTAKE_TOPICS
from consumers.intake.app import Policy, intake
from consumers.join_engine.app import join_engine
from consumers.once import DecideOnce, Edges
from consumers.supervisor.app import supervisor
from event_schemas.delegations import ExecuteDelegation
from event_schemas.envelope import Envelope
from event_schemas.payload import Payload
from event_schemas.playbooks import Directory, Playbook
from event_schemas.registry import names
from event_schemas.runs import PlaybookUsed, ReportRevised, RunCompleted
from event_schemas.topics import SPECIALISTS
from projections.case_view.fold import CASE_VIEW
from tests.support.builders import an_answer
from tests.support.orders import Act, Draw
from tests.support.records import RawRecord, alert_data, alert_headers
from tests.support.twin import World
from tests.support.twin_members import PREFIX, Member, WorkItem, read_once
from tests.support.twin_parts import Relay, Viewer, due_times, next_due, tick
from tests.support.twin_specialists import Answer, Script, a_specialist, submit

NOON = datetime(2026, 7, 23, 2, 2, tzinfo=UTC)
"""When the alerts of S1 come in; time only moves when nothing else can."""

_NONE = cast("Any", None)
_NOWHERE = Edges(_NONE, _NONE, _NONE, _NONE, PREFIX)


def the_answer(order: ExecuteDelegation) -> list[Answer]:
    """Return the answer of S1 to *order*."""
    return [Answer(an_answer(order.task_id, order.delegation.step_id))]


def silent(_order: ExecuteDelegation) -> list[Answer]:
    """Return no answer, ever."""
    return []


def an_alert_record(number: int, **changes: Any) -> RawRecord:
    """Return one of the three alerts of S1, as its producer sends it."""
    kinds = (
        {"service": "payment-api", "signal_kind": "payment_confirm_timeout"},
        {"service": "payment-gateway", "signal_kind": "latency_p95"},
        {"service": "risk-gateway", "signal_kind": "rule_hit_rate"},
    )
    window = {"window_start": "2026-07-23T01:45:00Z", "window_end": "2026-07-23T02:02:00Z"}
    data = alert_data(number, **kinds[number % 3], **window, **changes)
    key = f"prod-cn/production/{data['service']}".encode()
    value = json.dumps(data).encode()
    return RawRecord("alerts", 0, 0, key, value, alert_headers(f"event-{number}"))


THE_ALERTS = tuple(an_alert_record(number) for number in range(3))


@lru_cache
def _installation() -> tuple[Directory, tuple[Playbook, ...]]:
    return playbooks.load_directory(), playbooks.load()


@lru_cache
def _used() -> dict[tuple[str, str], PlaybookUsed]:
    return playbooks.used(_installation()[1])


def _as_it_is(service: DecideOnce) -> DecideOnce:
    return service


@dataclass(slots=True)
class System:
    """All processes of an installation, moved one act at a time.

    *scripts* say what a specialist answers (default: S1), *broken* which artifact bytes changed;
    *joining* may alter the join engine; a *viewed* system folds the case view, in a *hasty* one
    time may pass before everybody is done. Specialists answer once *waits_for* alerts (default:
    all) were taken in.
    """

    alerts: Sequence[RawRecord] = THE_ALERTS
    scripts: Mapping[str, Script] = field(default_factory=dict)
    broken: Mapping[str, str | None] = field(default_factory=dict)
    joining: Callable[[DecideOnce], DecideOnce] = _as_it_is
    viewed: bool = False
    hasty: bool = False
    waits_for: int | None = None
    world: World = field(init=False)
    members: list[Member] = field(init=False)
    specialists: dict[str, DecideOnce] = field(init=False)
    relay: Relay = field(init=False)
    viewer: Viewer = field(init=False)
    unsent: list[RawRecord] = field(init=False)

    def __post_init__(self) -> None:
        """Start every process over an empty store."""
        self.world = World(NOON, broken=self.broken)
        self.unsent = list(self.alerts)
        self.relay, self.viewer = Relay(self.world), Viewer(self.world, CASE_VIEW)
        directory, known = _installation()
        taken_in = intake(_NOWHERE, Policy(directory, known, (), local_mode=True))
        joining = self.joining(join_engine(_NOWHERE, self._digests))
        self.specialists = {name: a_specialist(name, _NOWHERE) for name in SPECIALISTS}
        services: list[tuple[DecideOnce, Sequence[str]]] = [
            (taken_in, INTAKE_TOPICS),
            (supervisor(_NOWHERE, _used()), ("events",)),
            (joining, ("events",)),
            (joining, ("events",)),  # a second process that thinks it owns the partitions
            (clock.watcher(_NOWHERE), clock.TOPICS),
            *((each, (f"commands.{name}",)) for name, each in self.specialists.items()),
        ]
        self.members = [
            Member(self.world, service, [f"{PREFIX}.{topic}" for topic in topics])
            for service, topics in services
        ]

    async def _digests(self, hashes: Sequence[str]) -> dict[str, str | None]:
        return {name: self.world.broken.get(name, name) for name in hashes}

    def progress(self, draw: Draw) -> Iterator[Act]:
        """Yield the acts that get on with the work."""
        yield from self._of_members(draw)
        yield from self._of_others(draw)
        if self.unsent:
            yield "an alert is sent", lambda: self._send(draw)
        for item in self._ready():
            yield f"{item.specialist} answers", partial(self._answer, item)

    def _of_members(self, draw: Draw) -> Iterator[Act]:
        for number, member in enumerate(self.members):
            if member.prepared is not None:
                yield f"{member.name} ({number}) commits", member.commit
            elif member.waiting():
                decide = partial(member.prepare, draw.which, draw.count)
                yield f"{member.name} ({number}) decides", decide

    def _of_others(self, draw: Draw) -> Iterator[Act]:
        if self.relay.sent:
            yield "the relay deletes", self.relay.delete
        elif self.world.store.outbox:
            yield "the relay sends", lambda: self.relay.send(draw.count)
        if self.viewed and self.viewer.waiting():
            yield "the view folds", lambda: self.viewer.fold(draw.which, draw.count)
        if due_times(self.world):
            yield "a due time passes", lambda: tick(self.world)

    def disturbances(self, draw: Draw) -> Iterator[Act]:
        """Yield the acts that only harm: crashes, records taken again, alerts sent again."""
        yield "the relay crashes", self.relay.crash
        yield "an alert is sent again", lambda: self._send_again(draw)
        if self.viewed:
            yield "the view goes back", lambda: self.viewer.rewind(draw.which, draw.count)
        if self.hasty:
            yield "time passes", self._pass_time
        for number, member in enumerate(self.members):
            name = f"{member.name} ({number})"
            yield f"{name} crashes", member.crash
            yield f"{name} goes back", partial(member.rewind, draw.which, draw.count)

    def rest(self) -> bool:
        """Let time pass until a due time or the next answer; say whether there is one."""
        return self._pass_time()

    def _pass_time(self) -> bool:
        coming = [a.at for item in self._items() for a in self._left(item) if a.at]
        at = next_due(self.world, coming)
        self.world.now = at or self.world.now
        return at is not None

    def events(self, *payloads: type[Payload]) -> list[tuple[Envelope, Payload]]:
        """Return the events of the store (of these types) with their payloads, in order."""
        wanted = names(*payloads) if payloads else None
        return [
            (event.envelope, read_once(event.envelope))
            for event in self.world.store.events
            if wanted is None or event.envelope.type in wanted
        ]

    def completions(self) -> list[tuple[str, bytes]]:
        """Return id and data of what subscribers find, each id once, whatever its type."""
        records = self.world.log(f"{PREFIX}.completions")
        found = {dict(r.headers)["ce_id"]: r.value or b"" for r in records}
        return [((name or b"").decode(), data) for name, data in found.items()]

    def completed(self) -> list[RunCompleted]:
        """Return the completions of the store."""
        return [p for _, p in self.events(RunCompleted) if isinstance(p, RunCompleted)]

    def revised(self) -> list[ReportRevised]:
        """Return the revisions of the store."""
        return [p for _, p in self.events(ReportRevised) if isinstance(p, ReportRevised)]

    def _send(self, draw: Draw) -> None:
        self._record(self.unsent.pop(draw.which % len(self.unsent)))

    def _send_again(self, draw: Draw) -> None:
        sent = [record for record in self.alerts if record not in self.unsent]
        if sent:
            self._record(sent[draw.which % len(sent)])

    def _record(self, record: RawRecord) -> None:
        topic = f"{PREFIX}.{record.topic}"
        self.world.topics.send(topic, record.key, record.headers, record.value)

    def _ready(self) -> list[WorkItem]:
        """Return the work whose next answer is due, once every alert has been taken in."""
        wanted = len(self.alerts) if self.waits_for is None else self.waits_for
        if len(self.world.store.tables["case_signals"]) < wanted:
            return []
        return [
            i for i in self._items() if any(a.is_due(self.world.now) for a in self._left(i))
        ]

    def _items(self) -> list[WorkItem]:
        return list(self.world.store.tables["work_items"].values())

    def _left(self, item: WorkItem) -> Sequence[Answer]:
        """Return the next answer of *item*, if there is one more."""
        script = self.scripts.get(item.order.delegation.step_id, the_answer)
        return script(item.order)[item.answered : item.answered + 1]

    def _answer(self, item: WorkItem) -> None:
        [answer] = self._left(item)
        submit(self.world, self.specialists[item.specialist], item, answer)
