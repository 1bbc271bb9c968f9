"""Run it: the demo, the local stack, one service."""

import asyncio
from typing import Annotated

import typer

from caseops import output
from caseops.cli.options import AsJson, DataDir


def demo(data_dir: DataDir = None, *, as_json: AsJson = False) -> int:
    """Play the payment incident on a real Kafka and a real PostgreSQL, then clean up."""
    from caseops.demo import play

    return asyncio.run(play(data_dir, as_json=as_json))


def up(
    data_dir: DataDir = None,
    *,
    processes: Annotated[
        bool, typer.Option("--processes", help="One process for each service.")
    ] = False,
    single: Annotated[bool, typer.Option("--single", help="One process for all.")] = False,
    nodes: Annotated[int, typer.Option(help="Kafka nodes: 1 or 3.")] = 1,
    detach: Annotated[bool, typer.Option("--detach", help="Return once it is up.")] = False,
    as_json: AsJson = False,
) -> int:
    """Start Kafka, PostgreSQL and all services here; Ctrl-C stops them, unless --detach."""
    from caseops.foreground import keep_up

    if (processes and single) or nodes not in {1, 3}:
        raise typer.BadParameter("choose one of --processes and --single, and 1 or 3 nodes")
    layout = "processes" if processes else "single" if single else "groups"
    return asyncio.run(
        keep_up(data_dir, layout=layout, nodes=nodes, detach=detach, as_json=as_json)
    )


def down(data_dir: DataDir = None, *, as_json: AsJson = False) -> int:
    """Stop the local stack; its data stays."""
    from caseops import stack
    from caseops.addresses import addresses

    folder = addresses(data_dir).data_dir
    stopped = asyncio.run(stack.down(folder, output.progress))
    if as_json:
        output.document({"data_dir": str(folder), "stopped": stopped})
    elif not stopped:
        output.text(f"nothing was running in {folder}")
    return output.DONE


def serve(
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Service or group.")],
) -> int:
    """Run services in the foreground, as a container does: `caseops serve intake`."""
    from caseops.serve import main

    return main(names)
