"""The command line: `caseops --help` is its manual."""

from caseops.cli.entry import main

__all__ = ["main"]
