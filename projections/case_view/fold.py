"""From the events of one log key to the case and its run, as JSON. Pure.

The state of a key is the document that `show` prints, so every part of it is plain JSON.
"""

from collections.abc import Mapping
from typing import Any

from event_schemas.envelope import Envelope
from event_schemas.payload import Payload
from event_schemas.registry import REGISTRY, names
from projections.case_view import answers, cases, endings, stages, wording
from projections.projection import Place, Projection, Row

State = Mapping[str, Any]

CHANGES = {**cases.CHANGES, **answers.CHANGES, **endings.CHANGES}
READS = names(*(entry.payload for entry in REGISTRY if "events" in entry.topics))


def initial(place: Place) -> State:
    """Return the state of a key of which nothing is known but its place in the log."""
    return {
        "place": {
            "key": place.key,
            "partition": place.partition,
            "offset": place.offset,
        },
        "sequence": 0,
        "case": None,
        "kind": None,
        "status": None,
        "result_status": None,
        "outcome": None,
        "termination_reason": None,
        "deadline_at": None,
        "signals": 0,
        "delegations": [],
        "claims": [],
        "conflicts": [],
        "missing": [],
        "report": None,
        "reports": [],
        "completion_id": None,
        "stage": None,
        "timeline": [],
    }


def fold(state: State, envelope: Envelope, payload: Payload) -> State:
    """Return *state* after the event *payload*; an event that shows nothing only counts."""
    change = CHANGES.get(type(payload))
    changed = change(state, envelope, payload) if change else {}
    after = {**state, **changed, "sequence": envelope.sequence}
    said = wording.told(after, payload)
    if said is not None:
        entry = {
            "sequence": envelope.sequence,
            "time": cases.instant(envelope.time),
            "who": wording.who(after, envelope, payload),
            "what": said,
            "event_id": envelope.id,
        }
        after["timeline"] = [*state["timeline"], entry]
    return stages.staged(after, envelope)


def rows(before: State, after: State) -> list[Row]:
    """Return the rows of *after* that differ from *before*: a run once intake accepted it."""
    case, ran = after["case"], after["kind"] is not None
    changed = []
    new_case = case is not before["case"] or before["kind"] is None
    if case is not None and new_case:
        changed.append(_case_row(after, case if ran else after))
    if ran:
        changed.append(_run_row(after))
    return changed


def _case_row(state: State, document: State) -> Row:
    case = state["case"]
    return Row(
        "case_view",
        {
            "case_id": case["case_id"],
            "run_id": state["place"]["key"],
            "tenant": case["tenant"],
            "environment": case["environment"],
            "service_group": case["group"],
            "status": case["status"],
            "opened_at": case["opened_at"],
            "document": document,
        },
    )


def _run_row(state: State) -> Row:
    place = state["place"]
    return Row(
        "run_view",
        {
            "run_id": state["run_id"],
            "case_id": state.get("case_id"),
            "tenant": state["tenant"],
            "kind": state["kind"],
            "service": state["service"],
            "status": state["status"],
            "result_status": state["result_status"],
            "outcome": state["outcome"],
            "started_at": state["started_at"],
            "completed_at": state.get("completed_at"),
            "deadline_at": state["deadline_at"],
            "sequence": state["sequence"],
            "log_partition": place["partition"],
            "first_offset": place["offset"],
            "document": state,
        },
    )


CASE_VIEW = Projection(
    view="case_view",
    reads=READS,
    initial=initial,
    fold=fold,
    rows=rows,
    owns=frozenset({"events"}),
)
