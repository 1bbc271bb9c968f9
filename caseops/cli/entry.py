"""Where the process begins, and how a problem becomes an exit code."""

import sys
from collections.abc import Sequence

import structlog
import typer

from caseops import output
from caseops.cli.app import app
from infra.errors import CaseOpsError, Poison, Transient

# Typer keeps its errors of usage private; this is the one above BadParameter.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


def main() -> None:
    """Run the command line of this process."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the command in *arguments* and return its exit code."""
    as_json = "--json" in arguments
    try:
        result = app(list(arguments), prog_name="caseops", standalone_mode=False)
    except (CaseOpsError, Transient, Poison) as error:
        output.problem(error, as_json=as_json)
        return output.exit_code(error)
    except USAGE_ERROR as error:
        return _usage(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        return output.NO
    return result if isinstance(result, int) else output.DONE


def _usage(error: Exception, *, as_json: bool) -> int:
    told = error.format_message() if hasattr(error, "format_message") else str(error)
    if told or as_json:  # without a command Typer has printed the manual already
        wrong = CaseOpsError("USAGE", told or "no command", "See `caseops --help`.")
        output.problem(wrong, as_json=as_json)
    return output.WRONG
