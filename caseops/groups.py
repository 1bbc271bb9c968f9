"""Which services there are, who reads which topic, and how local mode groups processes."""

from event_schemas.topics import SPECIALISTS

READERS: dict[str, tuple[str, ...]] = {
    "alerts": ("intake",),
    "requests": ("intake",),
    "events": ("intake", "supervisor", "join_engine", "deadline_clock", "case_view"),
    **{f"commands.{name}": (f"specialist.{name}",) for name in SPECIALISTS},
}
GROUPS: dict[str, tuple[str, ...]] = {
    "deciders": ("intake", "supervisor", "join_engine", "deadline_clock"),
    "specialists": tuple(f"specialist.{name}" for name in SPECIALISTS),
    "relay": ("outbox_relay",),
    "projectors": ("case_view",),
}
ALL = tuple(name for group in GROUPS.values() for name in group)
