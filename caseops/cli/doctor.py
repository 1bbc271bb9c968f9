"""Look: whether everything is there, and moves."""

import asyncio

from caseops import output
from caseops.cli.options import AsJson, DataDir


def doctor(data_dir: DataDir = None, *, as_json: AsJson = False) -> int:
    """Check Kafka, PostgreSQL, schema, topics, services, lag and parked things.

    Exit code 3 when a dependency is away, 1 when anything else is wrong.
    """
    from caseops.addresses import addresses
    from caseops.diagnosis import examine

    checks = asyncio.run(examine(addresses(data_dir)))
    if as_json:
        output.document({"ok": all(each.ok for each in checks), "checks": checks})
    else:
        for each in checks:
            output.text(f"{'ok  ' if each.ok else 'BAD '} {each.name:<14} {each.found}")
            if each.hint and not each.ok:
                output.text(f"     {'':<14} {each.hint}")
    if any(each.away and not each.ok for each in checks):
        return output.AWAY
    return output.DONE if all(each.ok for each in checks) else output.NO
