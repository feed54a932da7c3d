"""Figures of the dashboard and comparisons, from the counts of `chat.review.figures.rollups`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Case, CharField, Count, Exists, F, OuterRef, Q, QuerySet, Sum, Value, When
from django.utils import timezone

from chat.models import AnswerRollup, AskerDay, DocumentRollup, RollupDay
from chat.models.rollups import ANY
from chat.review.figures.intervals import wilson
from chat.review.figures.sketches import Sketch, added, percentile
from chat.review.queue import collections_offered, require_model
from chat.review.roles import DeskAccess
from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded
from retrieval.models import Document
from retrieval.selectors import as_uuid, visible_documents

By = Literal["day", "workflow", "model", "collection", "language", "period"]
DAYS = 30
MAX_DAYS = 800
COUNTS = (
    "answers", "answered", "clarified", "no_answer", "cut", "weak", "degraded", "slow", "flagged", "rated",
    "rated_good", "rated_bad", "llm_calls", "llm_rounds", "prompt_tokens", "completion_tokens",
)  # fmt: skip
SKETCHES = ("first_token_ms", "total_ms")
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
    rows = _rows(access, filters, by)
    if by == "period":
        later = When(day__gt=_middle(filters), then=Value("2"))
        rows = rows.annotate(half=Case(later, default=Value("1"), output_field=CharField()))
    column = {"period": "half", "collection": "collection_id"}.get(by, by)
    names = _collection_names(access) if by == "collection" else {}
    groups: dict[str, list[_Sums]] = {}
    for value, sums in _summed(rows, column).items():
        key = str(value)
        groups.setdefault(key if by != "collection" or key in names else "", []).append(sums)
    if by == "day":
        for day in _days(filters):
            groups.setdefault(str(day), [])
    users = _users_by_day(filters) if by == "day" and _unfiltered(filters) else {}
    found = [
        {"key": key, "label": _label(by, key, names, filters), **_figures(members)} for key, members in groups.items()
    ]
    for figured in found:
        figured["users"] = users.get(figured["key"], 0) if by == "day" and _unfiltered(filters) else None
    return sorted(found, key=lambda row: row["key"] if by in ("day", "period") else (-row["answers"], row["key"]))


def totals(*, access: DeskAccess, filters: StatsFilters) -> dict[str, Any]:
    """Of the whole time, each answer once."""
    users = None
    if _unfiltered(filters):
        users = AskerDay.objects.filter(_between(filters)).aggregate(people=Count("user", distinct=True))["people"]
    every = _rows(access, filters).annotate(every=Value("", output_field=CharField()))
    return {**_figures(list(_summed(every, "every").values())), "users": users}


@dataclass(frozen=True, slots=True)
class _Sums:
    """Of some rows: the sums of their counts, and their sketches put together."""

    counts: Mapping[str, int]
    sketches: Mapping[str, Sketch]


def _summed(rows: QuerySet[AnswerRollup], column: str) -> dict[Any, _Sums]:
    """By the values of a column; summed up by the database, as two years have some thousand rows."""
    if column == "day":  # a row each
        return {
            day: _Sums(
                dict(zip(COUNTS, figures, strict=False)), dict(zip(SKETCHES, figures[len(COUNTS) :], strict=True))
            )
            for day, *figures in rows.order_by().values_list("day", *COUNTS, *SKETCHES)
        }
    sums = {f"sum_{name}": Sum(name) for name in COUNTS}
    grouped = list(rows.order_by().values(column).annotate(**sums).values_list(column, *sums))
    sketches = {name: _sketches(rows, column, name) for name in SKETCHES}
    return {
        value: _Sums(
            dict(zip(COUNTS, (count or 0 for count in counts), strict=True)),
            {name: sketches[name].get(str(value), {}) for name in SKETCHES},
        )
        for value, *counts in grouped
    }


def _sketches(rows: QuerySet[AnswerRollup], column: str, name: str) -> dict[str, Sketch]:
    """By the values of the column, as text."""
    each = "jsonb_each_text" if connection.vendor == "postgresql" else "json_each"
    merged: dict[str, dict[str, int]] = {}
    try:
        grouped = rows.order_by().annotate(of_group=F(column), sketch=F(name)).values("of_group", "sketch")
        sql, values = grouped.query.sql_with_params()
    except EmptyResultSet:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT part.of_group, bucket.key, SUM(CAST(bucket.value AS bigint)) FROM ({sql}) part, "  # noqa: S608
            f"{each}(part.sketch) bucket GROUP BY part.of_group, bucket.key",
            values,
        )
        for value, key, count in cursor.fetchall():
            merged.setdefault(_as_text(value), {})[key] = int(count)
    return dict(merged)


def _as_text(value: Any) -> str:
    """A value of the database as the ORM's would be: SQLite keeps an id as its digits alone."""
    text = str(value)
    return str(UUID(text)) if isinstance(value, str) and len(text) == 32 and as_uuid(text) else text


def _figures(rows: Sequence[_Sums]) -> dict[str, Any]:
    """Sums and percentiles of some groups."""
    sums: dict[str, Any] = {name: sum(row.counts[name] for row in rows) for name in COUNTS}
    for name in SKETCHES:
        sketch = added(row.sketches[name] for row in rows)
        sums[name] = {"p50": percentile(sketch, 0.5), "p95": percentile(sketch, 0.95)}
    return sums


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
    counted = DocumentRollup.objects.filter(_between(filters)).values("document_id")
    counted = counted.annotate(cited_times=Sum("cited"), shown_times=Sum("shown")).filter(cited_times__gt=0)
    offered = Document.objects if access.sees_names else visible_documents(access.user)
    top: list[dict[str, Any]] = []
    rows = list(counted.order_by("-cited_times", "-shown_times", "document_id")[: 5 * limit])
    known = offered.select_related("collection").in_bulk([row["document_id"] for row in rows])
    for row in rows:
        if document := known.get(row["document_id"]):
            top.append(
                {
                    "id": str(document.pk), "title": document.title, "collection": document.collection.name,
                    "cited": row["cited_times"], "shown": row["shown_times"],
                }
            )  # fmt: skip
    return top[:limit]


def documents_unused(*, access: DeskAccess, filters: StatsFilters, limit: int) -> tuple[int, list[dict[str, Any]]]:
    """How many ready documents no answer was shown in this time, and the oldest of them."""
    offered = Document.objects if access.sees_names else visible_documents(access.user)
    used = DocumentRollup.objects.filter(_between(filters), document_id=OuterRef("pk"))
    rows = offered.filter(~Exists(used), status=Document.Status.READY).select_related("collection")
    oldest = rows.order_by("created_at", "pk")[:limit]
    return rows.count(), [
        {"id": str(row.pk), "title": row.title, "collection": row.collection.name, "added": row.created_at}
        for row in oldest
    ]


# ------------------------------------------------------------------------------------------------ rows
def counted_at() -> Any:
    """When the newest day was counted, None before the first; and whether a day waits to be counted."""
    last = RollupDay.objects.filter(made_at__isnull=False).order_by("-day").values_list("made_at", flat=True).first()
    return last, RollupDay.objects.filter(stale=True).exists()


def _rows(access: DeskAccess, filters: StatsFilters, by: By | Literal[""] = "") -> QuerySet[AnswerRollup]:
    """One for each day and value of `by`; of each other thing the one that is filtered by, or all together."""
    rows = AnswerRollup.objects.filter(_between(filters))
    if filters.collection is not None:
        if not collections_offered(access).filter(pk=filters.collection).exists():
            raise InvalidInputError(fields={"collection": [worded("There is no such collection; choose another one.")]})
        rows = rows.filter(collection=filters.collection)
    else:
        rows = rows.filter(collection__isnull=by != "collection")
    require_model(filters.model, AnswerRollup.objects.all())
    for name in ("workflow", "model", "language"):
        value = getattr(filters, name)
        rows = rows.exclude(**{name: ANY}) if name == by and not value else rows.filter(**{name: value or ANY})
    return rows


def _between(filters: StatsFilters) -> Q:
    return Q(day__gte=filters.since, day__lte=filters.until)


def _unfiltered(filters: StatsFilters) -> bool:
    return not (filters.workflow or filters.model or filters.language or filters.collection)


def _users_by_day(filters: StatsFilters) -> dict[str, int]:
    rows = AskerDay.objects.filter(_between(filters)).values("day").annotate(people=Count("user"))
    return {str(row["day"]): row["people"] for row in rows.order_by("day")}


def _days(filters: StatsFilters) -> Iterable[date]:
    return (filters.since + timedelta(days=n) for n in range((filters.until - filters.since).days + 1))


def _middle(filters: StatsFilters) -> date:
    return filters.since + (filters.until - filters.since) / 2


def _collection_names(access: DeskAccess) -> dict[str, str]:
    return {str(row.pk): row.address for row in collections_offered(access)}


def _label(by: By, key: str, names: Mapping[str, str], filters: StatsFilters) -> str:
    if by == "collection":
        return names.get(key, worded("Other collections"))
    if by == "period":
        first, last = (filters.since, _middle(filters)) if key == "1" else (
            _middle(filters) + timedelta(days=1), filters.until)  # fmt: skip
        return f"{first} – {last}"
    return key or "–"
