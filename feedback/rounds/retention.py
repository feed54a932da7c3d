"""What ratings say that is older than the site keeps it (`ragsite.retention`). The next revision of boosts is made
without what has gone; the ratings themselves go with their conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from django.db.models import QuerySet

from feedback.models import Evidence
from feedback.rounds.evidence import day_of
from feedback.rounds.personal_data import rows_erase


def evidence_over(before: datetime) -> QuerySet[Evidence]:
    """Of days that were over then."""
    return Evidence.objects.filter(day__lt=day_of(before))


def evidence_erase(over: Callable[[], QuerySet[Evidence]]) -> Iterator[int]:
    """With it go rated questions that nothing else is about. Yields how many rows each transaction deleted."""
    return rows_erase(over(), "pk")
