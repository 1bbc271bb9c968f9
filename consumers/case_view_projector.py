"""The case view projector, wired: the fold, its tables, and what it measures."""

from collections.abc import Sequence
from datetime import datetime

from prometheus_client import Counter, Histogram

from consumers.folding import Folded
from consumers.once import Edges
from consumers.project import ProjectOnce
from event_schemas.runs import ReportPublished, RunCompleted
from projections.case_view import table
from projections.case_view.fold import CASE_VIEW

TOPICS = ("events",)
RUNS = Counter("caseops_runs", "Runs that ended", ("outcome", "result_status"))
FIRST_JUDGEMENT = Histogram(
    "caseops_first_judgement_seconds",
    "From intake to the first report",
    buckets=(0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 240, 480, 900),
)


def case_view_projector(edges: Edges) -> ProjectOnce:
    """Return the projector of cases and runs; it also answers for the log topic."""
    return ProjectOnce("case_view", CASE_VIEW, table, edges, told=measure)


def measure(folded: Sequence[Folded]) -> None:
    """Count ended runs, and the time to the first judgement, from committed events."""
    for each in folded:
        if isinstance(each.payload, RunCompleted):
            RUNS.labels(each.payload.outcome, each.payload.result_status).inc()
        elif isinstance(each.payload, ReportPublished):
            began, at = each.state.get("started_at"), each.envelope.time
            if began and at:
                took = at - datetime.fromisoformat(began)
                FIRST_JUDGEMENT.observe(took.total_seconds())
