"""Alembic entry point: runs the migrations on the connection that `infra.migrate` gives."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table_schema="caseops",
    include_schemas=True,
)
with context.begin_transaction():
    context.run_migrations()
