"""Prepare what the settings name: `python -m caseops.apply` migrates and creates topics."""

import asyncio
import sys

import structlog

from caseops.installation import apply
from caseops.serve import DONE, EXIT_CODES
from infra.errors import CaseOpsError, DependencyAway
from infra.observability import configure_logs
from infra.settings import Settings


def main() -> int:
    """Apply the current schema, topics and positions; safe to run again. Return the exit code."""
    settings = Settings()
    configure_logs(settings.log_level, settings.log_format)
    try:
        created = asyncio.run(_apply(settings))
    except CaseOpsError as error:
        structlog.get_logger().error(
            "not_applied", code=error.code, error=error.message, hint=error.hint
        )
        return next(code for kind, code in EXIT_CODES if isinstance(error, kind))
    structlog.get_logger().info("applied", topics_created=created)
    return DONE


async def _apply(settings: Settings) -> list[str]:
    if settings.kafka_bootstrap is None or settings.database_url is None:
        raise DependencyAway(
            "NOT_SET",
            "no Kafka address or no database URL",
            "Set CASEOPS_KAFKA_BOOTSTRAP and CASEOPS_DATABASE_URL.",
        )
    return await apply(
        settings.kafka_bootstrap,
        settings.database_url.get_secret_value(),
        settings.topic_prefix,
        replication=settings.replication,
        partitions=settings.partitions,
    )


if __name__ == "__main__":
    sys.exit(main())
