"""Conservation: every record a consumer handled is an effect, a dead letter or a skip. Pure.

For one consumer and one topic, with the numbers since the topic was created:

* *handled*: the sum of the next offsets of its partitions (deleted records stay counted);
* *effects*: messages it claimed (deciders, specialists) or events it folded (projectors);
* *dead_letters*: records it parked; *skipped*: records it passed over, by reason;
* *unaccounted* = handled - effects - dead_letters - skipped: nothing else may happen to a
  record, so any other number than 0 is a fault;
* *waiting*: records on the topic that it has not handled yet: late, not lost.

A topic is shown as its owner sees it (the consumer that also parks what nobody can read), so
that records = effects + dead_letters + skipped + waiting + unaccounted. Its `unaccounted` adds
up the sizes of the differences of all its readers; each reader is listed under `consumers`.
"""

from collections.abc import Mapping
from typing import Any

from infra.accounts import Account, Place
from infra.inbox import CLAIMED
from infra.kafka.offsets import Bounds
from projections.projection import FOLDED

EFFECTS = frozenset({FOLDED, CLAIMED})
"""Reasons under which effects are counted that left no inbox row."""
OWNERS = {"alerts": "intake", "requests": "intake", "events": "case_view"}


def audit(
    prefix: str,
    readers: Mapping[str, tuple[str, ...]],
    ends: Mapping[str, Mapping[int, Bounds]],
    accounts: Mapping[Place, Account],
) -> dict[str, Any]:
    """Return topic (full name) -> its account; *readers* by the short names of topics."""
    found = {}
    for short, consumers in readers.items():
        topic = f"{prefix}.{short}"
        if topic in ends:
            each = {
                name: _account(ends[topic], accounts.get((name, topic), Account()))
                for name in consumers
            }
            found[topic] = _topic(ends[topic], each, OWNERS.get(short, consumers[0]))
    return found


def differs(document: Mapping[str, Any]) -> bool:
    """Say whether a record of any topic is unaccounted for."""
    return any(topic["unaccounted"] != 0 for topic in document.values())


def _account(ends: Mapping[int, Bounds], account: Account) -> dict[str, Any]:
    handled = sum(account.positions.values())
    effects = account.claims + sum(account.skips.get(why, 0) for why in EFFECTS)
    skipped = {why: n for why, n in sorted(account.skips.items()) if why not in EFFECTS}
    waiting = sum(
        max(0, end - account.positions.get(number, 0)) for number, (_, end) in ends.items()
    )
    return {
        "handled": handled,
        "effects": effects,
        "dead_letters": account.letters,
        "skipped": skipped,
        "waiting": waiting,
        "unaccounted": handled - effects - account.letters - sum(skipped.values()),
    }


def _topic(
    ends: Mapping[int, Bounds], consumers: Mapping[str, dict[str, Any]], owner: str
) -> dict[str, Any]:
    seen = consumers[owner]
    return {
        "records": sum(end for _, end in ends.values()),
        "deleted": sum(begin for begin, _ in ends.values()),
        "effects": seen["effects"],
        "dead_letters": seen["dead_letters"],
        "skipped": seen["skipped"],
        "waiting": seen["waiting"],
        "unaccounted": sum(abs(each["unaccounted"]) for each in consumers.values()),
        "consumers": consumers,
    }
