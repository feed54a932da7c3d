"""`retrieval.ports.JudgeRecords`: what the last round learned of the models, kept in memory.

The table has a row for each model that has judged. It is read beside the answers, when REFRESH_S have passed; only the
first question waits for it, PATIENCE_S at most.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time

from channels.db import database_sync_to_async
from django.db import DatabaseError

from feedback.models import JudgeAgreement
from retrieval.values import JudgeRecord

REFRESH_S = 60.0  # a round runs once a night
PATIENCE_S = 0.5
UNKNOWN = JudgeRecord()
logger = logging.getLogger(__name__)


class LearnedJudgeRecords:
    """Belongs to one event loop, as the engine does."""

    def __init__(self) -> None:
        self._records: dict[str, JudgeRecord] | None = None
        self._checked = 0.0
        self._reading: asyncio.Task[None] | None = None

    async def record(self, model: str) -> JudgeRecord:
        """Never raises: a table that can't be read leaves what was known, at first nothing."""
        if self._reading and self._reading.done():
            self._reading = None
        if self._reading is None and (self._records is None or time.monotonic() - self._checked >= REFRESH_S):
            # An empty context: the request that starts the task may end before it does.
            self._reading = asyncio.create_task(self._read(), context=contextvars.Context())
        if self._records is None and self._reading:
            await asyncio.wait({self._reading}, timeout=PATIENCE_S)
        return (self._records or {}).get(model, UNKNOWN)

    async def _read(self) -> None:
        try:
            self._records = await database_sync_to_async(records_load, thread_sensitive=False)()
        except DatabaseError as error:
            logger.warning("The judges' records could not be read, going on with the last ones: %s", error)
            self._records = self._records or {}
        self._checked = time.monotonic()


def records_load() -> dict[str, JudgeRecord]:
    """By model name."""
    return {row.model: record_of(row) for row in JudgeAgreement.objects.order_by()}


def record_of(row: JudgeAgreement) -> JudgeRecord:
    return JudgeRecord(yes_held=row.yes_held, no_held=row.no_held, yes_absent=row.yes_absent, no_absent=row.no_absent)
