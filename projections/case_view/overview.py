"""The five things a person asks of a task, from its document. Pure (USER-01, USER-04)."""

from collections.abc import Mapping
from typing import Any

from projections.case_view.wording import RESULT_TEXTS

State = Mapping[str, Any]


def overview(document: State) -> dict[str, Any]:
    """Return who is responsible, the stage, what is confirmed, awaited, and to be reviewed."""
    claims = document["claims"]
    return {
        "responsible": document["owner"],
        "stage": document["stage"]["name"] if document["stage"] else None,
        "confirmed": [claim["claim_id"] for claim in claims if claim["accepted"]],
        "waiting": waiting(document),
        "review": [
            f"{each['topic']}: {each['resolution']}"
            for each in document["conflicts"]
            if each["resolution"] == "unresolved"
        ],
        "result_text": RESULT_TEXTS.get(document["result_status"] or ""),
    }


def waiting(document: State) -> list[str]:
    """Return what is still to come, or, after the end, what the report advises to do."""
    if document["completion_id"] is not None:
        return list((document["report"] or {}).get("advice", ()))
    return [
        f"answer of {entry['specialist']} until {entry['deadline_at']}"
        for entry in document["delegations"]
        if entry["status"] in {"created", "assigned", "accepted", "working"}
    ]
