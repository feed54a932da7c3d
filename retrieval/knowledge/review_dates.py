"""By when documents are to be reviewed: on the date that a document has of its own, else as its collection says.

The date that holds is stored with each document, so that lists and the search for overdue ones read an index.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from typing import Any

from django.db.models import DateField, F, Func
from django.utils import timezone

from retrieval.models import Collection, Document


def months_after(day: date, months: int) -> date:
    """The same day of a later month, or the last one of a month that is too short."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last_day = monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last_day))


def review_date_set(document: Document, collection: Collection) -> None:
    """Set `review_due` by what the document and the collection say; nothing is saved."""
    came_in = (document.created_at or timezone.now()).date()
    due = document.review_by
    if due is None and collection.review_months is not None:
        due = months_after(came_in, collection.review_months)
    document.review_due = due
    document.review_notified = False


def review_date_of_next(earlier: Document) -> date | None:
    """The own date of a version that takes this one's place and is given none: the same, or, where that has passed,
    as long from today as the earlier one had."""
    today = timezone.localdate()
    if earlier.review_by is None or earlier.review_by >= today:
        return earlier.review_by
    began = (earlier.reviewed_at or earlier.created_at).date()
    return today + (earlier.review_by - began) if earlier.review_by > began else None


def review_dates_refresh(collection: Collection) -> int:
    """After its rule was changed: the dates of its documents that have none of their own. Returns how many."""
    documents = Document.objects.filter(collection=collection, review_by=None)
    months = collection.review_months
    due = None if months is None else _MonthsLater(F("created_at"), months=months)
    return documents.update(review_due=due, review_notified=False)


class _MonthsLater(Func):
    """`months_after` of a column, in the database."""

    output_field = DateField()

    def __init__(self, expression: Any, *, months: int) -> None:
        super().__init__(expression)
        self.months = int(months)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """SQLite counts on into the next month: the 31st of a month that has 30 days is its 1st."""
        template = (
            f"min(date(%(expressions)s, '+{self.months} months'), "
            f"date(%(expressions)s, 'start of month', '+{self.months + 1} months', '-1 day'))"
        )
        return self.as_sql(compiler, connection, template=template, **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = (
            f"((%(expressions)s AT TIME ZONE 'UTC')::date + interval '{self.months} months')::date"
        )
        return self.as_sql(compiler, connection, template=template, **context)
