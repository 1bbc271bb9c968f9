"""Time as a fact. Writer: deadline clock."""

from typing import Literal

from event_schemas.payload import Instant, Name, Payload


class DeadlinePassed(Payload):
    """A due time is over; *about* says of what, *subject_id* of which one."""

    run_id: Name
    about: Literal["run", "join", "delegation"]
    subject_id: Name
    due_at: Instant
    observed_at: Instant
