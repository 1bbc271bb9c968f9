"""The local PostgreSQL server of local mode and of the tests."""
