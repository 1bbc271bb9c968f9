"""What a specialist process counts."""

from prometheus_client import Counter, Gauge, Histogram

OPEN_ITEMS = Gauge("caseops_work_items_open", "Delegations in hand", ("specialist",))
TOOL_SECONDS = Histogram(
    "caseops_tool_call_seconds",
    "Time of one try of a tool",
    ("tool", "outcome"),
    buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30),
)
LEASES_EXPIRED = Counter("caseops_leases_expired", "Leases that ran out", ("specialist",))
LATE = Counter("caseops_results_late", "Results without a valid lease", ("specialist",))
RESULTS = Counter("caseops_results", "Results submitted", ("specialist", "status"))
