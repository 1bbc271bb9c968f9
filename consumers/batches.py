"""Carry one batch through its failures: retry, decide again, split, park."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import random

from consumers.failure_policy import Step, next_step, pause
from consumers.sorting import Record
from infra.observability import ConsumerMetrics

Attempt = Callable[[Sequence[Record], int], Awaitable[None]]
Park = Callable[[Record, Exception], Awaitable[None]]


@dataclass(slots=True)
class Carrier:
    """What a consumer does with a batch and with the one record that cannot be handled.

    *attempt* gets the records and the number of the try (from 1); *park* must commit.
    """

    attempt: Attempt
    park: Park
    metrics: ConsumerMetrics
    backing_off: bool = False

    async def carry(self, records: Sequence[Record]) -> None:
        """Return once every record is an effect, a dead letter or a counted skip.

        Retries transient errors for as long as it takes; raises what must stop the service.
        """
        number = 0
        while records:
            number += 1
            try:
                await self.attempt(records, number)
            except Exception as error:  # noqa: BLE001 - the one park edge
                if await self._after(error, number, records):
                    return
            else:
                self.backing_off = False
                return

    async def _after(
        self, error: Exception, number: int, records: Sequence[Record]
    ) -> bool:
        step = next_step(error, attempt=number, records=len(records))
        if step is Step.STOP:
            raise error
        self.metrics.retried(type(error).__name__)
        if step is Step.SPLIT:
            half = len(records) // 2
            await self.carry(records[:half])
            await self.carry(records[half:])
        elif step is Step.PARK:
            await self.park(records[0], error)
        elif step is Step.RETRY:
            self.backing_off = True
            await asyncio.sleep(pause(number, random()))  # noqa: S311 - jitter
        return step in {Step.SPLIT, Step.PARK}
