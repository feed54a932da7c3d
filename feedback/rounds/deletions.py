"""Deletions in the midst of a round.

With a document, an account or a rating go rows that a round reads and writes. Both take one lock before all others, on
the one row of `FeedbackState`: a round's transactions hold it alone, deletions share it. So each sees all that the
other did or nothing, and no two wait for each other. What was read in an earlier transaction may be gone all the same:
then the database refuses the write, and it is done again.

On SQLite, where a transaction has the database's only write lock from its begin, there is nothing to lock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, connection, transaction

from feedback.models import FeedbackState

Result = TypeVar("Result")
logger = logging.getLogger(__name__)


def lock_out_deletions() -> None:
    """In a round's transaction, before any other lock: nothing that feedback leans on is deleted until its end."""
    FeedbackState.objects.select_for_update().order_by().filter(pk=1).values_list("pk").first()


def one_at_a_time() -> None:
    """In a transaction that looks whether somebody has made the same, and else makes it."""
    FeedbackState.objects.get_or_create(pk=1)  # none before the first round
    lock_out_deletions()


def lock_out_rounds() -> None:
    """In a transaction that deletes, before it does: no round writes until its end; other deletions go on."""
    if connection.vendor != "postgresql":
        return
    table = connection.ops.quote_name(FeedbackState._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {table} WHERE id = 1 FOR SHARE")  # noqa: S608


def write_with_retry(work: Callable[[], Result]) -> Result:
    """Run `work` in a transaction that locks out deletions, and return its result.

    It is retried once if a row that it refers to was deleted after it was read.
    """
    try:
        return _once(work)
    except IntegrityError as error:
        logger.info("A round's write is done again: %s", error)
        return _once(work)


def _once(work: Callable[[], Result]) -> Result:
    with transaction.atomic():
        lock_out_deletions()
        return work()
