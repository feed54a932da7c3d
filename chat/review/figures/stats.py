"""Figures of the dashboard and comparisons, counted from the desk's rows when somebody looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from django.db.models import Case, CharField, Count, Exists, F, OuterRef, Q, QuerySet, Sum, UUIDField, Value, When
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from chat.models import AnswerReview, Message, Source
from chat.review.figures.intervals import wilson
from chat.review.figures.percentiles import Percentile
from chat.review.queue import collections_offered, require_model
from chat.review.records import USAGE
from chat.review.roles import DeskAccess
from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded
from retrieval.models import Document
from retrieval.selectors import visible_documents

By = Literal["day", "workflow", "model", "collection", "language", "period"]
DAYS = 30
MAX_DAYS = 800
COUNTED: dict[str, Q] = {
    "answered": Q(decision=Message.Decision.ANSWER), "clarified": Q(decision=Message.Decision.CLARIFY),
    **{name: Q(**{name: True}) for name in ("no_answer", "cut", "weak", "degraded", "slow", "flagged")},
    "rated": Q(worst_score__isnull=False), "rated_good": Q(worst_score__gte=4), "rated_bad": Q(badly_rated=True),
}  # fmt: skip
TIMES = ("first_token_ms", "total_ms")
FIGURES: dict[str, Any] = {
    "answers": Count("pk"),
    **{name: Count("pk", filter=rows) for name, rows in COUNTED.items()},
    **{name: Coalesce(Sum(name), 0) for name in USAGE if name not in TIMES},
    **{f"{name}_p{share}": Percentile(name, share=share / 100) for name in TIMES for share in (50, 95)},
}  # fmt: skip
RATES = {
    "good": ("rated_good", "rated"), "bad": ("rated_bad", "rated"), "no_answer": ("no_answer", "answers"),
    "weak": ("weak", "answers"), "degraded": ("degraded", "answers"),
}  # fmt: skip
CHOSEN = worded(
    "People choose workflow, model and collection themselves, so these are rates of chosen traffic: a workflow that is "
    "used for hard questions looks worse than it is."
)
RATED = worded("Rates of ratings are of the answers that somebody rated, which are few and not drawn at random.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsFilters:
    """Both days are included."""

    since: date
    until: date
    workflow: str = ""
    model: str = ""
    language: str = ""
    collection: UUID | None = None


def stats_filters(
    *, since: date | None = None, until: date | None = None, workflow: str = "", model: str = "", language: str = "",
    collection: UUID | None = None,
) -> StatsFilters:  # fmt: skip
    """The last 30 days unless others are named. Raises InvalidInputError."""
    until = until or timezone.localdate()
    since = since or until - timedelta(days=DAYS - 1)
    if not timedelta() <= until - since < timedelta(days=MAX_DAYS):
        raise InvalidInputError(
            fields={"from": [worded("Name two days in their order, {most} days apart at most.", most=MAX_DAYS)]}
        )
    return StatsFilters(
        since=since, until=until, workflow=workflow, model=model, language=language, collection=collection
    )


def stats_by(*, access: DeskAccess, by: By, filters: StatsFilters) -> list[dict[str, Any]]:
    """One row for each day, workflow …, that has answers: days in order, others with the most answers first.

    An answer that was asked of several collections counts for each; who sees no names gets those that they may not
    read as one, since a private collection tells whose question it was. Raises InvalidInputError.
    """
    rows = _rows(access, filters)
    if by == "collection":
        rows = rows.annotate(asked_of=F("collections__collection")).filter(asked_of__isnull=False)
    figures = {**FIGURES, **({"users": Count("user", distinct=True)} if by == "day" and _unfiltered(filters) else {})}
    grouped = rows.annotate(key=_key(access, by, filters)).order_by().values("key").annotate(**figures)
    found: dict[str, Any] = {"" if row["key"] is None else str(row["key"]): row for row in grouped}
    if by == "day":
        nothing = dict.fromkeys(figures, 0) | dict.fromkeys(f"{name}_p{share}" for name in TIMES for share in (50, 95))
        found = {str(day): found.get(str(day), nothing) for day in _days(filters)}
    names = {str(row.pk): row.address for row in collections_offered(access)} if by == "collection" else {}
    told = [
        {"users": None, **_told(row), "key": key, "label": _label(by, key, names, filters)}
        for key, row in found.items()
    ]
    return sorted(told, key=lambda row: row["key"] if by in ("day", "period") else (-row["answers"], row["key"]))


def totals(*, access: DeskAccess, filters: StatsFilters) -> dict[str, Any]:
    """Of the whole time, each answer once. Raises InvalidInputError."""
    users = {"users": Count("user", distinct=True)} if _unfiltered(filters) else {}
    return {"users": None, **_told(_rows(access, filters).aggregate(**FIGURES, **users))}


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    """With both percentiles of a time together."""
    figures = {name: value for name, value in row.items() if not name.startswith(TIMES)}
    return figures | {name: {"p50": row[f"{name}_p50"], "p95": row[f"{name}_p95"]} for name in TIMES}


def _key(access: DeskAccess, by: By, filters: StatsFilters) -> Any:
    if by == "day":
        return TruncDate("created_at")
    if by == "period":
        later = When(created_at__gte=_start(_middle(filters) + timedelta(days=1)), then=Value("2"))
        return Case(later, default=Value("1"), output_field=CharField())
    if by == "collection":
        offered = collections_offered(access).order_by().values("pk")
        return Case(When(asked_of__in=offered, then=F("asked_of")), default=None, output_field=UUIDField())
    return F(by)


def compare_by(*, access: DeskAccess, by: By, filters: StatsFilters) -> list[dict[str, Any]]:
    """`stats_by` with `rates`: of each its share, 0..1 or None, with its Wilson interval for one look."""
    rows = stats_by(access=access, by=by, filters=filters)
    for row in rows:
        row["rates"] = {name: rate(row[hits], row[count]) for name, (hits, count) in RATES.items()}
    return [row for row in rows if row["answers"]]


def rate(hits: int, count: int) -> dict[str, Any]:
    low, high = wilson(hits, count)
    return {
        "hits": hits, "count": count, "rate": round(hits / count, 4) if count else None,
        "low": round(low, 4), "high": round(high, 4),
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------ documents
def documents_used(*, access: DeskAccess, filters: StatsFilters, limit: int) -> list[dict[str, Any]]:
    """Those that answers cited most, as far as they still exist and this person may know them."""
    cited = Source.objects.filter(_shown(filters), cited=True, document_id__isnull=False).order_by()
    counted = cited.values("document_id").annotate(cited_times=Count("pk")).order_by("-cited_times", "document_id")
    times = dict(counted.values_list("document_id", "cited_times")[: 5 * limit])
    known = _offered(access).select_related("collection").in_bulk(list(times))
    return [
        {"id": str(pk), "title": known[pk].title, "collection": known[pk].collection.name, "cited": count}
        for pk, count in times.items()
        if pk in known
    ][:limit]


def documents_unused(*, access: DeskAccess, filters: StatsFilters, limit: int) -> tuple[int, list[dict[str, Any]]]:
    """How many ready documents no answer was shown in this time, and the oldest of them."""
    used = Source.objects.filter(_shown(filters), document_id=OuterRef("pk"))
    rows = _offered(access).filter(~Exists(used), status=Document.Status.READY).select_related("collection")
    oldest = rows.order_by("created_at", "pk")[:limit]
    return rows.count(), [
        {"id": str(row.pk), "title": row.title, "collection": row.collection.name, "added": row.created_at}
        for row in oldest
    ]


def _offered(access: DeskAccess) -> QuerySet[Document]:
    return Document.objects.all() if access.sees_names else visible_documents(access.user)


def _shown(filters: StatsFilters) -> Q:
    return Q(message__in=_between(filters).order_by().values("message"))


# ------------------------------------------------------------------------------------------------ rows
def _rows(access: DeskAccess, filters: StatsFilters) -> QuerySet[AnswerReview]:
    """Raises InvalidInputError."""
    rows = _between(filters)
    if filters.collection is not None:
        if not collections_offered(access).filter(pk=filters.collection).exists():
            raise InvalidInputError(fields={"collection": [worded("There is no such collection; choose another one.")]})
        rows = rows.filter(collections__collection=filters.collection)
    require_model(filters.model)
    for name in ("workflow", "model", "language"):
        if value := getattr(filters, name):
            rows = rows.filter(**{name: value})
    return rows


def _between(filters: StatsFilters) -> QuerySet[AnswerReview]:
    last = filters.until + timedelta(days=1)
    return AnswerReview.objects.filter(created_at__gte=_start(filters.since), created_at__lt=_start(last))


def _start(day: date) -> datetime:
    """Of a day of the site."""
    return timezone.make_aware(datetime(day.year, day.month, day.day))


def _unfiltered(filters: StatsFilters) -> bool:
    return not (filters.workflow or filters.model or filters.language or filters.collection)


def _days(filters: StatsFilters) -> list[date]:
    return [filters.since + timedelta(days=n) for n in range((filters.until - filters.since).days + 1)]


def _middle(filters: StatsFilters) -> date:
    return filters.since + (filters.until - filters.since) / 2


def _label(by: By, key: str, names: Mapping[str, str], filters: StatsFilters) -> str:
    if by == "collection":
        return names.get(key, worded("Other collections"))
    if by == "period":
        first, last = (filters.since, _middle(filters)) if key == "1" else (
            _middle(filters) + timedelta(days=1), filters.until)  # fmt: skip
        return f"{first} – {last}"
    return key or "–"
