"""The case view: cases and runs as people see them."""
