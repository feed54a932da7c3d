"""How long what ratings say is kept, for `ragsite.core.retention`. The next revision of boosts is
made without what has gone; the ratings themselves go with their conversations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from feedback.models import Evidence
from feedback.rounds.evidence import EPOCH, day_of
from feedback.rounds.personal_data import rows_erase
from ragsite.core.retention import Kind, use_kind
from ragsite.core.wording import worded


def connect() -> None:
    """Once, when the site starts."""
    use_kind(
        Kind(
            name="evidence",
            title=worded("What ratings say for ranking"),
            rule=worded("Since the rating, which stays with its answer; with it go rated questions of nobody else."),
            setting="evidence",
            moment="day",
            read=_moment,
            rows=evidence_over,
            erase=lambda before: rows_erase(evidence_over(before), "pk"),
        )
    )


def evidence_over(before: datetime) -> QuerySet[Any]:
    """Of days that were over then."""
    return Evidence.objects.filter(day__lt=day_of(before))


def _moment(day: int | None) -> datetime | None:
    return None if day is None else (EPOCH + timedelta(days=day)).astimezone(UTC)
