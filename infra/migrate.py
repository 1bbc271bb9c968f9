"""Bring a database to the current schema."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from infra.database import Connection

MIGRATION_LOCK = 0x0CA5E095


def upgrade(url: str, revision: str = "head") -> None:
    """Upgrade the database at *url* to *revision*; safe to run twice and at the same time."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    config = _config()
    try:
        with engine.begin() as connection:
            connection.execute(
                text("select pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK}
            )
            connection.execute(text("create schema if not exists caseops"))
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    finally:
        engine.dispose()


def head() -> str | None:
    """Return the newest revision that this release knows."""
    return ScriptDirectory.from_config(_config()).get_current_head()


async def current(connection: Connection) -> str | None:
    """Return the revision of the database behind *connection*."""
    cursor = await connection.execute("select version_num from caseops.alembic_version")
    row = await cursor.fetchone()
    return None if row is None else str(row[0])


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config
