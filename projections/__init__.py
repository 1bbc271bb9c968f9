"""Views: pure folds of the log, their tables and questions."""
