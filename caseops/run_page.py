"""A run as a page of text: judgement first, then what it rests on, then how it went."""

from collections.abc import Iterator, Mapping
from typing import Any

Document = Mapping[str, Any]
SHOWN_CAUSES = 5


def page(run: Document) -> str:
    """Return the page of *run*, the document that `show` gives."""
    parts = (_head, _judgement, _conflicts, _gaps, _advice, _claims, _work, _timeline)
    return "\n".join(line for part in parts for line in part(run))


def _head(run: Document) -> Iterator[str]:
    task = run["task"]
    yield f"Run {run['run_id']}  {run['kind']} of {run['service']} ({run['environment']})"
    yield f"  responsible  {run['owner']}, risk {run['risk']}, tenant {run['tenant']}"
    yield f"  stage        {task['stage']} since {_clock(run['stage']['since'])}"
    yield f"  status       {run['status']}, result {run['result_status'] or 'not yet'}"
    if task["result_text"]:
        yield f"               {task['result_text']}"
    yield f"  signals      {run['signals']}, deadline {_clock(run['deadline_at'])}"
    for awaited in task["waiting"] if run["completion"] is None else ():
        yield f"  waiting      {awaited}"


def _judgement(run: Document) -> Iterator[str]:
    report = run["report"]
    if report is None:
        yield "\nNo judgement yet"
        return
    yield f"\nJudgement, revision {report['revision']}: {report['status']}"
    yield f"  verdict      {report['verdict']}, confidence {report['confidence']:.2f}"
    for line in report["impact"]:
        yield f"  impact       {line}"
    evidence = {claim["claim_id"]: _cited(claim) for claim in run["claims"]}
    for rank, cause in enumerate(report["causes"][:SHOWN_CAUSES], 1):
        yield f"  {rank}. {cause['service'] or 'unnamed'}: {cause['type']} ({cause['score']:.2f})"
        if cause["why"]:
            yield f"     {cause['why']}"
        for claim in cause["claim_ids"]:
            yield f"     {claim} rests on {evidence.get(claim) or 'no evidence'}"


def _conflicts(run: Document) -> Iterator[str]:
    for conflict in run["conflicts"]:
        yield f"\nConflict on {conflict['topic']}: {conflict['resolution']}"
        for side in conflict["claims"]:
            refs = ", ".join(side["evidence_refs"])
            yield f"  {side['specialist']}: {side['value']} ({side['claim_id']}; {refs})"
        if conflict["escalated_to"]:
            yield f"  handed to {conflict['escalated_to']}"


def _gaps(run: Document) -> Iterator[str]:
    yield from _list("Gaps", run["missing"])
    if run["report"]:
        yield from _list("Warnings", run["report"]["warnings"])


def _advice(run: Document) -> Iterator[str]:
    if run["report"]:
        yield from _list("Advice (nothing is executed by itself)", run["report"]["advice"])


def _claims(run: Document) -> Iterator[str]:
    if run["claims"]:
        yield "\nClaims"
    for claim in run["claims"]:
        standing = "accepted" if claim["accepted"] else f"NOT accepted ({claim['state']})"
        yield f"  {claim['claim_id']} {standing}: {claim['statement']}"
        for each in claim["evidence"]:
            yield f"    {each['evidence_id']} {each['kind']} {each['uri']}"


def _work(run: Document) -> Iterator[str]:
    if run["delegations"]:
        yield "\nDelegations"
    for each in run["delegations"]:
        result = each["result_status"] or each["reason"] or "open"
        yield f"  {each['specialist']:<10} {each['status']}, {result}, attempts {each['attempts']}"


def _timeline(run: Document) -> Iterator[str]:
    if run["timeline"]:
        yield "\nTimeline (UTC)"
    for entry in run["timeline"]:
        yield f"  {_clock(entry['time'])}  {entry['who']:<14} {entry['what']}"


def _list(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"\n{title}"
    yield from (f"  - {line}" for line in lines)


def _cited(claim: Document) -> str:
    return ", ".join(each["evidence_id"] for each in claim["evidence"])


def _clock(text: str | None) -> str:
    return (text or "-")[11:23].rstrip("Z")
