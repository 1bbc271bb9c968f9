"""PostgreSQL connections: one pool per service, each under its own role, always in UTC."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg_pool import AsyncConnectionPool

from infra.errors import ConcurrentWrite, DependencyAway, NotPermitted, Poison, Transient

Connection = psycopg.AsyncConnection
Pool = AsyncConnectionPool[Connection]
ROLES = {
    "intake": "caseops_intake",
    "supervisor": "caseops_supervisor",
    "join_engine": "caseops_join_engine",
    "specialist": "caseops_specialist",
    "deadline_clock": "caseops_deadline_clock",
    "outbox_relay": "caseops_outbox_relay",
    "projector": "caseops_projector",
    "reader": "caseops_reader",
}
_OPTIONS = (
    "-c timezone=UTC -c idle_in_transaction_session_timeout=10000 -c lock_timeout=5000"
    " -c statement_timeout=60000 -c search_path=caseops"
)
_CONNECTION: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": 2,
    "connect_timeout": 5,
    # A peer that vanished is noticed in seconds, not when the kernel gives up.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_TRANSIENT = (
    psycopg.OperationalError,
    psycopg.errors.SerializationFailure,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.AdminShutdown,
    psycopg.InterfaceError,
)


def options(writer: str | None) -> str:
    """Return libpq options that pin UTC, time-outs and the role of *writer*."""
    return _OPTIONS if writer is None else f"{_OPTIONS} -c role={ROLES[writer]}"


def pool(url: str, writer: str, *, size: int = 4) -> Pool:
    """Return a closed pool of autocommit connections that act as *writer*; open it first."""
    return AsyncConnectionPool(
        url,
        min_size=1,
        max_size=size,
        open=False,
        check=AsyncConnectionPool.check_connection,
        kwargs={"options": options(writer), **_CONNECTION},
        timeout=5.0,
        reconnect_timeout=5.0,
    )


async def connect(url: str, writer: str | None = None) -> Connection:
    """Return one autocommit connection, outside any pool; raise `DependencyAway`."""
    try:
        return await psycopg.AsyncConnection.connect(
            url, options=options(writer), **_CONNECTION
        )
    except psycopg.OperationalError as error:
        raise DependencyAway(
            "DATABASE_AWAY",
            f"PostgreSQL does not answer: {type(error).__name__}",
            "Start it (`caseops up`) or check CASEOPS_DATABASE_URL.",
        ) from error


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Turn driver errors into the four edge errors, the cause kept."""
    try:
        yield
    except psycopg.errors.UniqueViolation as error:
        raise ConcurrentWrite(error.diag.constraint_name or "unique") from error
    except psycopg.errors.DivisionByZero as error:
        raise ConcurrentWrite("guard") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise NotPermitted(str(error)) from error
    except psycopg.errors.ProgramLimitExceeded as error:
        # The driver files it under operational errors, but no retry makes a key shorter.
        raise Poison("TOO_LARGE", f"{type(error).__name__}: {error}") from error
    except _TRANSIENT as error:
        raise Transient(f"{type(error).__name__}: {error}") from error
    except psycopg.Error as error:
        raise Poison("DATABASE_REFUSED", f"{type(error).__name__}: {error}") from error


def identifier(name: str) -> sql.Identifier:
    """Return *name* quoted as an SQL identifier."""
    return sql.Identifier(name)
