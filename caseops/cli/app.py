"""The commands, by what they are for."""

import typer

from caseops.cli import (
    accounts,
    alerts,
    artifacts,
    config,
    doctor,
    investigate,
    letters,
    outbox,
    running,
    runs,
    subscribe,
)

RUN_IT, PUT_IN, LOOK, ACT = "Run it", "Put in", "Look", "Act"
MANUAL = """CaseOps investigates incidents: an alert on a Kafka topic opens a run, specialists
gather evidence in parallel, and a judgement with its evidence comes out on a topic.

Start with `caseops demo`. Every command takes --json.

Exit codes: 0 done, 1 the answer is no, 2 wrong usage or input, 3 a dependency is away."""

app = typer.Typer(
    help=MANUAL,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

for _panel, _name, _command in (
    (RUN_IT, "demo", running.demo),
    (RUN_IT, "up", running.up),
    (RUN_IT, "down", running.down),
    (RUN_IT, "serve", running.serve),
    (PUT_IN, "alert", alerts.alert),
    (PUT_IN, "investigate", investigate.investigate),
    (PUT_IN, "evaluate", investigate.evaluate),
    (LOOK, "runs", runs.runs),
    (LOOK, "show", runs.show),
    (LOOK, "events", runs.events),
    (LOOK, "subscribe", subscribe.subscribe),
    (LOOK, "lag", accounts.lag),
    (LOOK, "doctor", doctor.doctor),
    (LOOK, "config", config.config),
):
    app.command(_name, rich_help_panel=_panel)(_command)
app.add_typer(accounts.audit, name="audit", rich_help_panel=LOOK)
app.add_typer(artifacts.artifact, name="artifact", rich_help_panel=LOOK)
app.add_typer(letters.dlq, name="dlq", rich_help_panel=ACT)
app.add_typer(outbox.outbox, name="outbox", rich_help_panel=ACT)
