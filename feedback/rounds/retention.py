"""What ratings say that is older than the site keeps it (`ragsite.operations.retention`). The next revision of boosts
is made without what has gone; the ratings themselves go with their conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from feedback.models import Evidence
from feedback.rounds.deletions import lock_out_rounds
from feedback.rounds.evidence import day_of
from feedback.rounds.questions import questions_forget

ROWS_AT_ONCE = 200


def evidence_over(before: datetime) -> QuerySet[Evidence]:
    """Of days that were over then."""
    return Evidence.objects.filter(day__lt=day_of(before))


def evidence_erase(over: Callable[[], QuerySet[Evidence]]) -> Iterator[int]:
    """With it go rated questions that nothing else is about. Yields how many rows each transaction deleted."""
    while batch := list(over().order_by().values_list("pk", flat=True)[:ROWS_AT_ONCE]):
        with transaction.atomic():
            lock_out_rounds()
            evidence = Evidence.objects.filter(pk__in=batch)
            questions = list(evidence.order_by().values_list("question", flat=True).distinct())
            evidence.delete()
            questions_forget(questions)
        yield len(batch)
