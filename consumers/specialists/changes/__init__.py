"""Change auditor: change records and recorded cluster state."""
