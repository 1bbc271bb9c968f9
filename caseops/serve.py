"""Run services in the foreground of this process: `python -m caseops.serve NAME…`."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack

import structlog

from caseops import services
from caseops.context import Context
from infra.errors import CaseOpsError, DependencyAway, MustStop
from infra.observability import configure_logs
from infra.settings import Settings

DONE = 0
EXIT_CODES = ((DependencyAway, 3), (MustStop, 1), (CaseOpsError, 2))


def main(names: Sequence[str]) -> int:
    """Run the services or groups *names* until SIGTERM or SIGINT; return the exit code."""
    settings = Settings()
    configure_logs(settings.log_level, settings.log_format)
    try:
        wanted = [name for each in names for name in services.names_of(each)]
        asyncio.run(_serve(wanted, settings))
    except CaseOpsError as error:
        structlog.get_logger().error(
            "stopped", code=error.code, error=error.message, hint=error.hint
        )
        return next(code for kind, code in EXIT_CODES if isinstance(error, kind))
    return DONE


async def _serve(names: Sequence[str], settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        await services.run(names, Context(settings, stack), stop)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
