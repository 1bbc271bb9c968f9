"""Reference playbooks and the service directory: data only."""
