"""Liveness, readiness and metrics of a process, over HTTP."""

from functools import partial

import httpx2
import pytest

from infra.endpoints import Endpoints
from tests.support.records import alert_record
from tests.support.store import intake_over


async def test_ready_only_while_every_service_is() -> None:
    """SHAPE-20: readiness is more than liveness, and it says who is not ready."""
    states = {"intake": True, "supervisor": False}
    ready = {name: partial(states.__getitem__, name) for name in states}
    endpoints = Endpoints(ready, "127.0.0.1", 0)
    url = await endpoints.start()
    try:
        async with httpx2.AsyncClient(base_url=url) as client:
            live = await client.get("/health/live")
            before = await client.get("/health/ready")
            states["supervisor"] = True
            after = await client.get("/health/ready")
    finally:
        await endpoints.stop()

    assert (200, 503, 200) == (live.status_code, before.status_code, after.status_code)
    assert {"intake": True, "supervisor": False} == before.json()["services"]


METRICS = (
    "caseops_records_in_total",
    "caseops_records_handled_total",
    "caseops_records_parked_total",
    "caseops_batches_retried_total",
    "caseops_consumer_lag",
    "caseops_batch_records_bucket",
    "caseops_transaction_seconds_bucket",
    "caseops_outbox_backlog",
    "caseops_outbox_oldest_age_seconds",
    "caseops_runs_total",
    "caseops_first_judgement_seconds_bucket",
)


@pytest.mark.parametrize("name", METRICS)
async def test_each_metric_is_exposed(database: str, name: str) -> None:
    """OBS-12: the figures that operators alert on exist under their documented names."""
    import consumers.case_view_projector  # noqa: F401, PLC0415 - registers its metrics
    import outbox_relay.metrics  # noqa: F401, PLC0415 - registers its metrics

    async with intake_over(database) as intake:
        await intake.handle([alert_record(0), alert_record(1, tenant="other")])
    endpoints = Endpoints({}, "127.0.0.1", 0)
    url = await endpoints.start()
    try:
        async with httpx2.AsyncClient(base_url=url) as client:
            text = (await client.get("/metrics/")).text
    finally:
        await endpoints.stop()

    declared = name.removesuffix("_total").removesuffix("_bucket")
    assert f"# TYPE {name}" in text or f"# TYPE {declared}" in text
