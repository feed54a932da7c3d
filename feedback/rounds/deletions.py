"""Deletions in the midst of a round.

With a document, an account or a rating go rows that a round reads and writes. Both take one lock before all others, on
the one row of `FeedbackState`: a round's transactions hold it alone, deletions share it. So each sees all that the
other did or nothing, and no two wait for each other. What was read in an earlier transaction may be gone all the same:
then the database refuses the write, and it is done again.

On SQLite, where a transaction has the database's only write lock from its begin, there is nothing to lock.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction

from feedback.models import FeedbackState

ATTEMPTS = 5
PAUSE_S = 0.1  # before the second attempt; then twice as long each time
# serialization_failure, deadlock_detected, lock_not_available
PASSING = ("40001", "40P01", "55P03")
Result = TypeVar("Result")
logger = logging.getLogger(__name__)


def deletions_wait() -> None:
    """In a round's transaction, before any other lock: nothing that feedback leans on is deleted until its end."""
    FeedbackState.objects.select_for_update().order_by().filter(pk=1).values_list("pk").first()


def one_at_a_time() -> None:
    """In a transaction that looks whether somebody has made the same, and else makes it."""
    FeedbackState.objects.get_or_create(pk=1)  # none before the first round
    deletions_wait()


def rounds_wait() -> None:
    """In a transaction that deletes, before it does: no round writes until its end; other deletions go on."""
    if connection.vendor != "postgresql":
        return
    table = connection.ops.quote_name(FeedbackState._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {table} WHERE id = 1 FOR SHARE")  # noqa: S608


def written(work: Callable[[], Result], *, before_again: Callable[[], None] = lambda: None) -> Result:
    """What `work` returns, done in a transaction that deletions wait for.

    It is done again where rows that it refers to were deleted since they were read, or where it met another's lock;
    `before_again` forgets what was read. Raises what the last of ATTEMPTS raised.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return _once(work)
        except (IntegrityError, OperationalError) as error:
            if not _may_pass(error):
                raise
            logger.info("A round's write is done again, attempt %s was refused: %s", attempt, error)
        time.sleep(PAUSE_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))  # noqa: S311
        before_again()
    return _once(work)


def _once(work: Callable[[], Result]) -> Result:
    with transaction.atomic():
        deletions_wait()
        return work()


def _may_pass(error: DatabaseError) -> bool:
    if isinstance(error, IntegrityError):
        return True
    return getattr(error.__cause__, "sqlstate", "") in PASSING or "database is locked" in str(error)
