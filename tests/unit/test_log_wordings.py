"""Wordings that name a kind of failure."""

import pytest

from consumers.specialists.logs.wordings import failure_kind


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "HikariPool-1 - Connection is not available, request timed out after 30000ms",
            "connection_pool_exhaustion",
        ),
        ("db pool exhausted: 50/50 in use", "connection_pool_exhaustion"),
        ("FATAL: sorry, too many clients already", "connection_pool_exhaustion"),
        ("timed out waiting for a connection", "connection_pool_exhaustion"),
        ("thread pool is full, task rejected", "thread_pool_exhaustion"),
        ("dial tcp 10.0.0.1:5432: connect: connection refused", "dependency_unreachable"),
        (
            "All host(s) tried for query failed - no available connection",
            "dependency_unreachable",
        ),
        ("java.lang.OutOfMemoryError: Java heap space", "container_oom_killed"),
        ("write failed: no space left on device", "disk_full"),
        ("Environment variable API_MODE is undefined", "missing_environment_variable"),
        ("required env DB_URL missing", "missing_environment_variable"),
        ("x509: certificate has expired or is not yet valid", "certificate_invalid"),
        ("Database call completed in 7.5 seconds", "slow_database_call"),
        ("query took 2500 ms", "slow_database_call"),
    ],
)
def test_a_wording_names_its_kind(message: str, expected: str) -> None:
    """Whatever product writes it, the words decide."""
    kind = failure_kind(message)

    assert kind is not None
    assert expected == kind.type


@pytest.mark.parametrize(
    "message",
    [
        "order 17 created",
        "query took 12 ms",
        "pool started with 10 connections",
        "user opened a connection to the page",
    ],
)
def test_everyday_messages_name_nothing(message: str) -> None:
    """Normal operation speaks of pools and queries too."""
    assert failure_kind(message) is None
