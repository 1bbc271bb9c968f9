"""The topics: what each carries, its key, how it is kept; names take the installation's prefix."""

from dataclasses import dataclass

DAY_MS = 24 * 60 * 60 * 1000
KIB = 1024


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic; *retention_ms* -1 keeps for ever, *max_bytes* bounds one record."""

    name: str
    partitions: int
    retention_ms: int
    carries: str
    key: str
    max_bytes: int = 1024 * KIB

    def configs(self) -> dict[str, str]:
        """Return the broker-side settings of this topic."""
        return {
            "retention.ms": str(self.retention_ms),
            "retention.bytes": "-1",
            "cleanup.policy": "delete",
            "max.message.bytes": str(self.max_bytes),
            "compression.type": "producer",
        }


SPECIALISTS = ("logs", "metrics", "changes")
CONSUMERS = (
    "intake",
    "supervisor",
    "join_engine",
    "deadline_clock",
    "case_view",
    *(f"specialist.{name}" for name in SPECIALISTS),
)

ALERTS = Topic(
    "alerts",
    6,
    7 * DAY_MS,
    "alerts from any CloudEvents producer",
    "tenant/environment/service",
)
REQUESTS = Topic(
    "requests",
    6,
    7 * DAY_MS,
    "wishes of people and peers",
    "run id, or tenant + idempotency key",
)
EVENTS = Topic("events", 6, -1, "the event log: every state change", "root run id")
COMPLETIONS = Topic(
    "completions", 6, 30 * DAY_MS, "completion events and report revisions", "root run id"
)
ARTIFACTS = Topic("artifacts", 6, -1, "bytes of inline artifacts", "sha256")


def commands(specialist: str) -> Topic:
    """Return the command topic of one specialist."""
    return Topic(
        f"commands.{specialist}", 6, DAY_MS, f"orders to {specialist}", "root run id"
    )


def dead_letters(consumer: str) -> Topic:
    """Return the topic where people and tools read what *consumer* parked."""
    return Topic(
        f"dlq.{consumer}",
        1,
        30 * DAY_MS,
        f"records that {consumer} parked, with their original bytes",
        "original key",
        4 * 1024 * KIB,
    )


def all_topics() -> tuple[Topic, ...]:
    """Return every topic of an installation, in the order they are created."""
    return (
        ALERTS,
        REQUESTS,
        EVENTS,
        COMPLETIONS,
        ARTIFACTS,
        *(commands(name) for name in SPECIALISTS),
        *(dead_letters(consumer) for consumer in CONSUMERS),
    )


def full_name(prefix: str, topic: str) -> str:
    """Return the name on the cluster of *topic* under *prefix*."""
    return f"{prefix}.{topic}"


def short_name(prefix: str, full: str) -> str:
    """Return the topic name inside the installation of the cluster's *full* name."""
    return full.removeprefix(f"{prefix}.")
