"""Intake's own tables: open cases by group, and the case of each signal."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from consumers.decider import Intent
from consumers.intake.decider import Placed
from consumers.intake.placing import (
    case_to_join,
    look_up,
    new_case_id,
    playbook_for,
    starts_at,
)
from consumers.intake.reactions import CloseCase, ReceiveAlert, service_of
from consumers.streams import Drafts
from event_schemas.alerts import OpenCase, Placement
from event_schemas.ids import run_id
from event_schemas.playbooks import Directory, Playbook
from infra.database import Connection

SignalKey = tuple[str, str, datetime]
GroupKey = tuple[str, str, str]


@dataclass(slots=True)
class CaseBook:
    """The rows one batch may touch, locked, with what the batch itself adds to them."""

    directory: Directory
    playbooks: Sequence[Playbook]
    now: datetime
    signals: dict[SignalKey, OpenCase | None] = field(default_factory=dict)
    groups: dict[GroupKey, OpenCase | None] = field(default_factory=dict)
    changed: set[SignalKey | GroupKey] = field(default_factory=set)
    closed: dict[str, str] = field(default_factory=dict)

    async def open(self, connection: Connection, intents: Sequence[Intent]) -> set[str]:
        """Create missing rows, lock them sorted, and return the streams they point at."""
        alerts = [i for i in intents if isinstance(i.command, ReceiveAlert)]
        signals = sorted({self._signal(i) for i in alerts})
        groups = sorted({self._group(i) for i in alerts})
        self.signals = await _lock_signals(connection, signals)
        self.groups = await _lock_groups(connection, groups)
        known = [*self.signals.values(), *self.groups.values()]
        return {f"case/{case.case_id}" for case in known if case is not None}

    def place(self, intent: Intent) -> Intent:
        """Return *intent* with the case stream it belongs to and what intake saw."""
        command = intent.command
        if not isinstance(command, ReceiveAlert):
            return intent
        same, group = self.signals[self._signal(intent)], self.groups[self._group(intent)]
        entry = look_up(self.directory, service_of(command.alert))
        joined = case_to_join(starts_at(command, self.now), same, group)
        case = joined.case_id if joined else new_case_id(command, intent.tenant)
        run = joined.run_id if joined else run_id(f"case/{case}", 1)
        placement = Placement(
            directory=entry,
            same_signal=same,
            group_case=group,
            playbook=playbook_for(command.alert, entry.group, self.playbooks),
        )
        placed = Placed(case, placement)
        return Intent(command, f"case/{case}", run, intent.tenant, run, placed)

    def recorded(self, intent: Intent, drafts: Drafts) -> None:
        """Note the case of a signal that was just decided, or that a case closed."""
        command = intent.command
        if isinstance(command, CloseCase):
            self._close(command.case_id)
            return
        if not isinstance(command, ReceiveAlert):
            return
        signal, group = self._signal(intent), self._group(intent)
        _, state = drafts.states[intent.stream]
        before = self.groups[group]
        at = starts_at(command, self.now)
        same_case = before is not None and before.case_id == state.case_id
        latest = max(at, before.last_signal_at) if before and same_case else at
        now_open = OpenCase(
            case_id=state.case_id,
            run_id=state.run_id,
            status="closed" if state.closed else "open",
            last_signal_at=latest,
        )
        self.signals[signal] = now_open
        self.changed.add(signal)
        opened = state.case_id == new_case_id(command, intent.tenant)
        if same_case or before is None or opened:
            self.groups[group] = now_open
            self.changed.add(group)

    async def close(self, connection: Connection) -> None:
        """Write the rows that changed."""
        for key in sorted(self.signals.keys() & self.changed):
            await connection.execute(
                "update case_signals set case_id = %s, run_id = %s, status = %s,"
                " last_signal_at = %s where (tenant, fingerprint, starts_at) = (%s, %s, %s)",
                (*_values(self.signals[key]), *key),
            )
        for group in sorted(self.groups.keys() & self.changed):
            await connection.execute(
                "update open_cases set case_id = %s, run_id = %s, status = %s,"
                " last_signal_at = %s"
                " where (tenant, environment, service_group) = (%s, %s, %s)",
                (*_values(self.groups[group]), *group),
            )
        for case in sorted(self.closed):
            for table in ("case_signals", "open_cases"):
                await connection.execute(
                    f"update {table} set status = 'closed' where case_id = %s", (case,)
                )

    def _close(self, case_id: str) -> None:
        self.closed[case_id] = "closed"
        for rows in (self.signals, self.groups):
            for key, case in rows.items():
                if case is not None and case.case_id == case_id:
                    rows[key] = case.model_copy(update={"status": "closed"})  # type: ignore[index]

    def _signal(self, intent: Intent) -> SignalKey:
        command: ReceiveAlert = intent.command
        return (intent.tenant, command.alert.fingerprint, starts_at(command, self.now))

    def _group(self, intent: Intent) -> GroupKey:
        command: ReceiveAlert = intent.command
        entry = look_up(self.directory, service_of(command.alert))
        return (intent.tenant, command.alert.environment, entry.group)


def _values(case: OpenCase | None) -> tuple[str | datetime | None, ...]:
    if case is None:
        return (None, None, None, None)
    return (case.case_id, case.run_id, case.status, case.last_signal_at)


async def _lock_signals(
    connection: Connection, keys: Sequence[SignalKey]
) -> dict[SignalKey, OpenCase | None]:
    columns = [[key[part] for key in keys] for part in range(3)]
    await connection.execute(
        "insert into case_signals (tenant, fingerprint, starts_at)"
        " select * from unnest(%s::text[], %s::text[], %s::timestamptz[])"
        " on conflict do nothing",
        columns,
    )
    cursor = await connection.execute(
        "select tenant, fingerprint, starts_at, case_id, run_id, status, last_signal_at"
        " from case_signals where (tenant, fingerprint, starts_at) in"
        " (select * from unnest(%s::text[], %s::text[], %s::timestamptz[]))"
        " order by 1, 2, 3 for update",
        columns,
    )
    return {(row[0], row[1], row[2]): _case(row[3:]) async for row in cursor}


async def _lock_groups(
    connection: Connection, keys: Sequence[GroupKey]
) -> dict[GroupKey, OpenCase | None]:
    columns = [[key[part] for key in keys] for part in range(3)]
    await connection.execute(
        "insert into open_cases (tenant, environment, service_group)"
        " select * from unnest(%s::text[], %s::text[], %s::text[]) on conflict do nothing",
        columns,
    )
    cursor = await connection.execute(
        "select tenant, environment, service_group, case_id, run_id, status, last_signal_at"
        " from open_cases where (tenant, environment, service_group) in"
        " (select * from unnest(%s::text[], %s::text[], %s::text[]))"
        " order by 1, 2, 3 for update",
        columns,
    )
    return {(row[0], row[1], row[2]): _case(row[3:]) async for row in cursor}


def _case(row: Sequence[object]) -> OpenCase | None:
    if row[0] is None:
        return None
    return OpenCase.model_validate(
        dict(zip(("case_id", "run_id", "status", "last_signal_at"), row, strict=True))
    )
