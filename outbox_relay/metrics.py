"""What the relay tells Prometheus."""

from prometheus_client import Counter, Gauge, Histogram

BACKLOG = Gauge("caseops_outbox_backlog", "Rows not yet published (counted up to 100,000)")
OLDEST_AGE = Gauge("caseops_outbox_oldest_age_seconds", "Age of the oldest unpublished row")
PARKED = Gauge("caseops_relay_parked", "Rows that the broker refused and an operator owns")
SLICES = Gauge("caseops_relay_slices", "Slices of the outbox this relay owns")
PUBLISHED = Counter("caseops_relay_published", "Rows published and deleted", ("kind",))
ERRORS = Counter("caseops_relay_errors", "Failed sends and lost connections", ("error",))
BATCH_SIZE = Histogram(
    "caseops_relay_batch_size",
    "Rows per look at the outbox",
    buckets=(1, 2, 5, 10, 50, 100, 500, 1000),
)
SEND_SECONDS = Histogram(
    "caseops_relay_send_seconds",
    "From handing a round to the producer to the last acknowledgement",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 30),
)
