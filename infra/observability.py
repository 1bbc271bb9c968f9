"""Logs and metrics: one canonical line per batch, counters per consumer, never a payload."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import structlog
from prometheus_client import Counter, Gauge, Histogram

from infra.unit_of_work import Batch

_LABEL = ("consumer",)
RECORDS_IN = Counter("caseops_records_in", "Records read from Kafka", _LABEL)
HANDLED = Counter("caseops_records_handled", "Records that had an effect", _LABEL)
PARKED = Counter("caseops_records_parked", "Records parked", (*_LABEL, "code"))
SKIPPED = Counter("caseops_records_skipped", "Records skipped", (*_LABEL, "reason"))
RETRIED = Counter("caseops_batches_retried", "Batches tried again", (*_LABEL, "error"))
IGNORED_HEADERS = Counter("caseops_headers_ignored", "Unreadable headers we skip", _LABEL)
LAG = Gauge("caseops_consumer_lag", "Records not handled yet", _LABEL)
BATCH_SIZE = Histogram(
    "caseops_batch_records",
    "Records per batch",
    _LABEL,
    buckets=(1, 2, 5, 10, 50, 100, 500),
)
TRANSACTION = Histogram(
    "caseops_transaction_seconds",
    "Time of one batch's transaction",
    _LABEL,
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5),
)
FACTS = Counter("caseops_facts_appended", "Facts appended to the log", (*_LABEL, "type"))


class ConsumerMetrics:
    """The counters and the canonical log line of one consumer."""

    def __init__(self, consumer: str) -> None:
        self._consumer = consumer
        self._log = structlog.get_logger().bind(consumer=consumer)
        self._took = 0.0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Time the transaction of a batch."""
        begun = perf_counter()
        try:
            yield
        finally:
            self._took = perf_counter() - begun
            TRANSACTION.labels(self._consumer).observe(self._took)

    def handled(
        self, records: Sequence[object], batch: Batch, ignored_headers: int
    ) -> None:
        """Count what became of a committed batch and log it in one line."""
        RECORDS_IN.labels(self._consumer).inc(len(records))
        BATCH_SIZE.labels(self._consumer).observe(len(records))
        HANDLED.labels(self._consumer).inc(len(batch.claims))
        for (_, _, reason), count in batch.skips.items():
            SKIPPED.labels(self._consumer, reason).inc(count)
        for dead in batch.dead_letters:
            PARKED.labels(self._consumer, dead.reason).inc()
            self._log.warning(
                "record_parked", code=dead.reason, topic=dead.topic, id=dead.id
            )
        for fact in batch.facts:
            FACTS.labels(self._consumer, fact.type).inc()
        if ignored_headers:
            IGNORED_HEADERS.labels(self._consumer).inc(ignored_headers)
        if batch.claims or batch.facts:
            self._log.info(
                "batch_handled",
                records=len(records),
                claims=len(batch.claims),
                facts=len(batch.facts),
                parked=len(batch.dead_letters),
                ms=round(self._took * 1000, 2),
            )

    def retried(self, error: str) -> None:
        """Count a batch that is tried again."""
        RETRIED.labels(self._consumer, error).inc()
        self._log.warning("batch_retried", error=error)

    def lag(self, records: int) -> None:
        """Set how many records wait."""
        LAG.labels(self._consumer).set(records)


def configure_logs(level: str, form: str) -> None:
    """Send structured logs to standard error, as JSON or as text for people."""
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, force=True)
    for noisy in ("aiokafka", "faststream", "httpx", "httpx2", "uvicorn", "mcp"):
        logging.getLogger(noisy).setLevel(max(number, logging.WARNING))
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
