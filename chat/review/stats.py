"""Figures of the dashboard and the comparison, counted from the desk's rows when somebody looks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Literal

from django.db.models import Case, Count, F, Q, QuerySet, Sum, UUIDField, When
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from chat.models import AnswerReview, Message
from chat.review.percentiles import Percentile
from chat.review.queue import collections_known
from chat.review.records import BAD_SCORE, USAGE
from chat.review.roles import DeskAccess
from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded

By = Literal["day", "workflow", "collection"]
DAYS = 30
MAX_DAYS = 800
Z_95 = 1.959964
COUNTED: dict[str, Q] = {
    "answered": Q(decision=Message.Decision.ANSWER),
    "clarified": Q(decision=Message.Decision.CLARIFY),
    **{
        name: Q(**{name: True})
        for name in ("no_answer", "cut", "unconfirmed", "weak", "degraded", "slow", "flagged")
    },
    "offered_asked": ~Q(offered=""),
    "offered_answered": ~Q(offered="") & Q(decision=Message.Decision.ANSWER),
    "rated": Q(answer_score__isnull=False),
    "rated_good": Q(answer_score__gte=4),
    "rated_bad": Q(answer_score__lte=BAD_SCORE),
}
TIMES = ("first_token_ms", "total_ms")
SUMMED = [*(name for name in USAGE if name not in TIMES), "follow_ups"]
COUNTS = ("answers", "users", *COUNTED, *SUMMED)
FIGURES: dict[str, Any] = {
    "answers": Count("pk"),
    "users": Count("user", distinct=True),
    **{name: Count("pk", filter=rows) for name, rows in COUNTED.items()},
    **{name: Coalesce(Sum(name), 0) for name in SUMMED},
    **{
        f"{name}_p{share}": Percentile(name, share=share / 100)
        for name in TIMES
        for share in (50, 95)
    },
}
RATES = {
    "good": ("rated_good", "rated"),
    "bad": ("rated_bad", "rated"),
    "no_answer": ("no_answer", "answers"),
    "unconfirmed": ("unconfirmed", "answers"),
    "weak": ("weak", "answers"),
    "degraded": ("degraded", "answers"),
}
NOTES = (
    worded(
        "People choose the workflow, model and collection themselves. One that is used for hard questions "
        "looks worse than it is."
    ),
    worded("Shares of ratings count rated answers only. These are few, and not a random sample."),
)


class Days:
    """The days that are counted, both included: the last 30 unless others are named. Raises InvalidInputError."""

    def __init__(self, since: date | None = None, until: date | None = None) -> None:
        self.until = until or timezone.localdate()
        self.since = since or self.until - timedelta(days=DAYS - 1)
        if not timedelta() <= self.until - self.since < timedelta(days=MAX_DAYS):
            raise InvalidInputError(
                fields={
                    "from": [
                        worded(
                            "Give two days, the earlier first, at most {most} days apart.",
                            most=MAX_DAYS,
                        )
                    ]
                }
            )

    def rows(self) -> QuerySet[AnswerReview]:
        first = self.since
        end = self.until + timedelta(days=1)
        start, stop = (
            timezone.make_aware(datetime(day.year, day.month, day.day)) for day in (first, end)
        )
        return AnswerReview.objects.filter(created_at__gte=start, created_at__lt=stop)


def stats_by(*, access: DeskAccess, by: By, days: Days) -> list[dict[str, Any]]:
    """One row for each day, or for each workflow or collection that has answers: days in order, others with the most
    answers first.

    An answer that was asked of several collections counts for each; who sees no names gets those that they may not
    read as one, since a private collection tells whose question it was.
    """
    rows = days.rows()
    known = collections_known(access.user)
    if by == "collection":
        rows = rows.annotate(asked_of=F("collections__collection")).filter(asked_of__isnull=False)
        readable = When(asked_of__in=known.order_by().values("pk"), then=F("asked_of"))
        key: Any = Case(readable, default=None, output_field=UUIDField())
    else:
        key = TruncDate("created_at") if by == "day" else F(by)
    grouped = rows.annotate(key=key).order_by().values("key").annotate(**FIGURES)
    found = {"" if row["key"] is None else str(row["key"]): row for row in grouped}
    if by == "day":
        nothing = dict.fromkeys(FIGURES, 0) | {
            name: None for name in FIGURES if name.startswith(TIMES)
        }
        count = (days.until - days.since).days + 1
        all_days = (str(days.since + timedelta(days=number)) for number in range(count))
        return [_row(found.get(day, nothing)) | {"key": day, "label": day} for day in all_days]
    names = {str(row.pk): row.address for row in known} | {"": worded("Other collections")}
    labelled = [
        _row(row) | {"key": key, "label": names.get(key, key) if by == "collection" else key or "–"}
        for key, row in found.items()
    ]
    return sorted(labelled, key=lambda row: (-row["answers"], row["key"]))


def totals(*, days: Days) -> dict[str, Any]:
    """Of the whole time, each answer once."""
    return _row(days.rows().aggregate(**FIGURES))


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """With both percentiles of a time together."""
    figures = {name: value for name, value in row.items() if not name.startswith(TIMES)}
    return figures | {
        name: {"p50": row[f"{name}_p50"], "p95": row[f"{name}_p95"]} for name in TIMES
    }


def compare_workflows(*, access: DeskAccess, days: Days) -> list[dict[str, Any]]:
    """`stats_by` with `rates`: of each its share, 0..1 or None, with its Wilson interval for one look."""
    return [
        row
        | {"rates": {name: _rate(row[hits], row[count]) for name, (hits, count) in RATES.items()}}
        for row in stats_by(access=access, by="workflow", days=days)
    ]


def _rate(hits: int, count: int) -> dict[str, Any]:
    low, high = wilson(hits, count)
    return {
        "hits": hits,
        "count": count,
        "rate": round(hits / count, 4) if count else None,
        "low": round(low, 4),
        "high": round(high, 4),
    }


def wilson(hits: int, count: int, *, z: float = Z_95) -> tuple[float, float]:
    """The interval of a proportion, 0..1; (0, 1) where nothing was counted. It holds for one look, not for many.

    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927.
    """
    if count <= 0:
        return 0.0, 1.0
    share = hits / count
    squared = z * z
    middle = share + squared / (2 * count)
    width = z * math.sqrt(share * (1 - share) / count + squared / (4 * count * count))
    low = (middle - width) / (1 + squared / count)
    high = (middle + width) / (1 + squared / count)
    return max(0.0, min(low, share)), min(
        1.0, max(high, share)
    )  # rounding must not put the rate outside
