"""The spine: log, sequences, outbox, inbox, progress, cases, work, deadlines, artifacts, views."""

from importlib import resources

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything; the statements are plain SQL in the file beside this one."""
    folder = resources.files("infra.migrations.versions")
    op.execute((folder / "0001_spine_pre.sql").read_text())
