"""Bring a database to the current schema."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

MIGRATION_LOCK = 0x0CA5E095


def upgrade(url: str, revision: str = "head") -> None:
    """Upgrade the database at *url* to *revision*; safe to run twice and at the same time."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
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
