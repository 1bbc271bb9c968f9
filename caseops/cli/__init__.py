"""The command line: `caseops --help` is its manual."""

from caseops.cli.app import main

__all__ = ["main"]
