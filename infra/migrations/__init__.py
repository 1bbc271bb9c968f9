"""Schema migrations (Alembic); files are named for their deployment half: pre or post."""
