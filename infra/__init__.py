"""Edges to Kafka, PostgreSQL, files and the environment; knows no business event."""
