"""Log investigator: error clusters, first occurrence, call paths."""
