"""Print judgements as they come, as a consumer group: `subscribe_completions.py BOOTSTRAP`."""

import asyncio
import json
import sys

from aiokafka import AIOKafkaConsumer


async def main(bootstrap: str, group: str = "my-team") -> None:
    """Read completions from where *group* stopped; a new group starts at the first one."""
    async with AIOKafkaConsumer(
        "caseops.completions",
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
    ) as consumer:
        async for record in consumer:
            done = json.loads(record.value)
            print(done["run_id"], done.get("outcome", "revised"), flush=True)


asyncio.run(main(*sys.argv[1:]))
