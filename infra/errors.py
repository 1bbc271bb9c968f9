"""The errors that exist at edges; a business refusal is an event, not one of these."""


class CaseOpsError(Exception):
    """Something a person has to hear: a stable code, what happened, what to do."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.hint = hint


class DependencyAway(CaseOpsError):
    """Kafka, PostgreSQL or another dependency cannot be reached (exit code 3)."""


class WrongInput(CaseOpsError):
    """The caller's input cannot be used as it is (exit code 2)."""


class NotFound(CaseOpsError):
    """The thing asked for is not there, or not for this caller (exit code 1)."""


class MustStop(CaseOpsError):
    """The service must not go on: `LOG_AHEAD`, `LOG_REPLACED`, `LOG_TRUNCATED`."""


class Transient(Exception):
    """Retry the same batch for as long as it takes; nothing is wrong with the records."""


class Poison(Exception):
    """This record will never succeed: park it."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class ConcurrentWrite(Exception):
    """Somebody else appended to the stream first: reload and decide again."""


class NotPermitted(Exception):
    """The database role or the broker refused the write: park and alarm."""
