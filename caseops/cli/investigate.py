"""Put in: case folders, one or a whole labelled collection."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from caseops import output
from caseops.cli.options import AsJson, DataDir


def investigate(
    folder: Annotated[Path, typer.Argument(metavar="CASE_FOLDER")],
    data_dir: DataDir = None,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the judgement.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="A new run, also of a folder seen before.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Raise the alerts of a case folder; the specialists look into its files."""
    from caseops.addresses import addresses
    from caseops.case_folder import alerts_of
    from caseops.investigation import Patience, begin, ended, new_tag
    from caseops.run_page import page

    at, patience = addresses(data_dir), Patience()
    alerts = alerts_of(folder, tag=new_tag() if again else "")
    run = asyncio.run(begin(at, alerts, patience))
    document = asyncio.run(ended(at, run, patience)) if wait else {"run_id": run}
    if as_json:
        output.document(document)
    else:
        output.text(page(document) if wait else f"run {run}")
    return output.DONE


def evaluate(
    root: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of case folders.")],
    data_dir: DataDir = None,
    *,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only this incident; repeatable.")
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="Investigations at a time.")] = 4,
    as_json: AsJson = False,
) -> int:
    """Investigate every case folder below DIR and print how the judgements score."""
    from caseops.addresses import addresses
    from caseops.evaluation import evaluate as score
    from caseops.evaluation_run import judge_all, wanted
    from caseops.investigation import Patience

    patience = Patience(to_appear=600.0)
    folders = wanted(root, only or ())
    judged = asyncio.run(
        judge_all(addresses(data_dir), folders, patience, parallel=parallel)
    )
    result = score(root, judged)
    if as_json:
        output.document(result)
        return output.DONE
    _print(result)
    return output.DONE


def _print(result: dict[str, Any]) -> None:
    columns = ("incident", "verdict", "ranking", "seconds", "grounded", "total_claims")
    rows = [
        [*(each[name] for name in columns[:2]), ", ".join(each["ranking"][:3])]
        + [each[name] for name in columns[3:]]
        for each in result["incidents"]
    ]
    output.table("Judgements", columns, rows)
    for key, value in result["totals"].items():
        output.text(f"{key}: {value}")
    scores = result["scores"] or {}
    measures = list(dict.fromkeys(name for each in scores.values() for name in each))
    output.table(
        "Scores: mean (of so many)",
        ("stratum", *measures),
        [[name, *(_score(each.get(m)) for m in measures)] for name, each in scores.items()],
    )


def _score(measured: dict[str, Any] | None) -> str | None:
    return f"{measured['mean']:.2f} ({measured['n']})" if measured else None
