"""The composition root: command line, local stack, demo."""
