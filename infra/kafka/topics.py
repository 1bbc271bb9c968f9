"""Topic creation: explicit, with configs; what exists is left as it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaError,
    TopicAlreadyExistsError,
    for_code,
)

from infra.errors import DependencyAway

SAFE_REPLICATION = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """One topic to have: full name, partitions, broker-side configs."""

    name: str
    partitions: int
    configs: dict[str, str]


async def ensure(
    bootstrap: str, wanted: Sequence[Wanted], replication: int
) -> list[Wanted]:
    """Create the topics that are missing and return them; raise `DependencyAway`."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=30_000)
    try:
        await admin.start()
        existing = set(await admin.list_topics())
        missing = [topic for topic in wanted if topic.name not in existing]
        if not missing:
            return []
        configs = {"min.insync.replicas": "2"} if replication >= SAFE_REPLICATION else {}
        answer = await admin.create_topics(
            [
                NewTopic(
                    t.name,
                    t.partitions,
                    replication,
                    topic_configs={**t.configs, **configs},
                )
                for t in missing
            ]
        )
        _check(answer)
    except KafkaConnectionError as error:
        raise kafka_away(bootstrap) from error
    finally:
        await admin.close()
    return missing


def kafka_away(bootstrap: str) -> DependencyAway:
    """Return the error for a Kafka that does not answer."""
    return DependencyAway(
        "KAFKA_AWAY",
        f"Kafka does not answer at {bootstrap}",
        "Start it (`caseops up`) or check CASEOPS_KAFKA_BOOTSTRAP.",
    )


def _check(answer: object) -> None:
    for name, code, *rest in getattr(answer, "topic_errors", ()):
        error = for_code(code)
        if code and error is not TopicAlreadyExistsError:
            raise KafkaError(f"topic {name}: {error.__name__} {rest}")
