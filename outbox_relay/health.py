"""What the relay tells its readiness endpoint."""

from dataclasses import dataclass
from time import monotonic


@dataclass(slots=True)
class RelayHealth:
    """*ready* while the relay holds its slices and a producer; *last_progress* is monotonic.

    An idle relay makes progress too: it looked, and there was nothing to publish.
    """

    ready: bool = False
    last_progress: float = 0.0

    def progressed(self) -> None:
        """Note that the relay did what there was to do."""
        self.ready = True
        self.last_progress = monotonic()

    def seconds_since_progress(self) -> float:
        """Return how long ago the relay last did its work."""
        return monotonic() - self.last_progress
