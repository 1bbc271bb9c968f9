"""Put in: alerts."""

import asyncio
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from caseops import output
from caseops.cli.options import AsJson, DataDir


def alert(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A file, or - for stdin.")],
    data_dir: DataDir = None,
    *,
    tenant: Annotated[str, typer.Option(help="Tenant of an Alertmanager body.")] = "local",
    environment: Annotated[
        str | None, typer.Option(help="Environment of an Alertmanager body.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Publish alerts: a CloudEvent, an array, JSON lines, or an Alertmanager body."""
    from caseops.addresses import addresses
    from producers.alert_input import parse_input
    from producers.publish import publish

    at = addresses(data_dir)
    alerts = parse_input(_read(file), tenant=tenant, environment=environment)
    sent = asyncio.run(publish(at.kafka, at.prefix, alerts))
    if as_json:
        output.document([asdict(each) for each in sent])
    else:
        for each in sent:
            output.text(f"{each.id} -> {each.topic}/{each.partition}@{each.offset}")
        if not sent:
            output.text("nothing to publish: heartbeats (severity none) are no signals")
    return output.DONE


def _read(file: str) -> bytes:
    from infra.errors import WrongInput

    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise WrongInput(
            "UNREADABLE", f"{file}: {error.strerror}", "Name a file."
        ) from error
