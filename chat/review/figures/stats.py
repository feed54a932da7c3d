"""Figures of the dashboard and comparisons, from the counts of `chat.review.figures.rollups`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from chat.models import AnswerRollup, AskerDay, DocumentRollup, RollupDay
from chat.review.figures.correction import Corrected, RatedAnswer, between, corrected_rates, rated_answers
from chat.review.figures.intervals import wilson
from chat.review.figures.sketches import added, percentile
from chat.review.queue import collections_offered
from chat.review.roles import DeskAccess
from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import Sentence, worded
from retrieval.models import Document
from retrieval.selectors import visible_documents

By = Literal["day", "workflow", "model", "collection", "language", "period"]
DAYS = 30
MAX_DAYS = 800
COUNTS = (
    "answers", "answered", "clarified", "no_answer", "cut", "weak", "degraded", "slow", "flagged", "rated",
    "rated_good", "rated_bad", "llm_calls", "llm_rounds", "prompt_tokens", "completion_tokens",
)  # fmt: skip
RATES = {
    "good": ("rated_good", "rated"), "bad": ("rated_bad", "rated"), "no_answer": ("no_answer", "answers"),
    "weak": ("weak", "answers"), "degraded": ("degraded", "answers"),
}  # fmt: skip
CHOSEN = worded(
    "People choose workflow, model and collection themselves, so these are rates of chosen traffic: a workflow that is "
    "used for hard questions looks worse than it is. The corrected rates compare like questions only; what the site does "
    "not know of a question stays uncorrected. An experiment compares without that."
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
    rows = _rows(access, filters, by_collection=by == "collection")
    column = {"period": "day", "collection": "collection_id"}.get(by, by)
    names = _collection_names(access) if by == "collection" else {}
    groups: dict[str, list[AnswerRollup]] = {}
    for row in rows:
        value = getattr(row, column)
        if by == "collection":
            key = str(value) if str(value) in names else ""
        elif by == "period":
            key = "2" if value > _middle(filters) else "1"
        else:
            key = str(value)
        groups.setdefault(key, []).append(row)
    if by == "day":
        for day in _days(filters):
            groups.setdefault(str(day), [])
    users = _users_by_day(filters) if by == "day" and _unfiltered(filters) else {}
    found = [
        {"key": key, "label": _label(by, key, names, filters), **figures(members)} for key, members in groups.items()
    ]
    for figured in found:
        figured["users"] = users.get(figured["key"], 0) if by == "day" and _unfiltered(filters) else None
    return sorted(found, key=lambda row: row["key"] if by in ("day", "period") else (-row["answers"], row["key"]))


def totals(*, access: DeskAccess, filters: StatsFilters) -> dict[str, Any]:
    """Of the whole time, each answer once."""
    users = None
    if _unfiltered(filters):
        users = AskerDay.objects.filter(_between(filters)).aggregate(people=Count("user", distinct=True))["people"]
    return {**figures(list(_rows(access, filters, by_collection=False))), "users": users}


def figures(rows: Sequence[AnswerRollup]) -> dict[str, Any]:
    """Sums and percentiles of some rows."""
    sums = {name: sum(getattr(row, name) for row in rows) for name in COUNTS}
    times = {}
    for name in ("first_token_ms", "total_ms"):
        sketch = added(getattr(row, name) for row in rows)
        times[name] = {"p50": percentile(sketch, 0.5), "p95": percentile(sketch, 0.95)}
    return sums | times


def compare_by(*, access: DeskAccess, by: By, filters: StatsFilters) -> list[dict[str, Any]]:
    """`stats_by` with `rates`: of each its share, 0..1 or None, with its Wilson interval for one look; and `corrected`,
    of what people choose: the rates of ratings on like questions (`figures.correction`)."""
    rows = stats_by(access=access, by=by, filters=filters)
    corrected = corrected_rates(_rated(by, filters)) if by in ("workflow", "model") else {}
    for row in rows:
        row["rates"] = {name: rate(row[hits], row[count]) for name, (hits, count) in RATES.items()}
        row["corrected"] = {name: _corrected_data(found) for name, found in corrected.get(row["key"], {}).items()}
    return [row for row in rows if row["answers"]]


def _rated(by: By, filters: StatsFilters) -> list[RatedAnswer]:
    where = between(filters.since, filters.until)
    for name in ("workflow", "model", "language"):
        if value := getattr(filters, name):
            where &= Q(**{name: value})
    if filters.collection is not None:
        where &= Q(collections__collection=filters.collection)
    return rated_answers(side="model" if by == "model" else "workflow", where=where)


def _corrected_data(found: Corrected | Sentence) -> dict[str, Any]:
    if isinstance(found, Sentence):
        return {"rate": None, "others": None, "low": None, "high": None, "shared": None, "reason": found}
    figures = {name: round(getattr(found, name), 4) for name in ("rate", "others", "low", "high", "shared")}
    return {**figures, "reason": ""}


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


def _rows(access: DeskAccess, filters: StatsFilters, *, by_collection: bool) -> QuerySet[AnswerRollup]:
    rows = AnswerRollup.objects.filter(_between(filters))
    if filters.collection is not None:
        if not collections_offered(access).filter(pk=filters.collection).exists():
            raise InvalidInputError(fields={"collection": [worded("There is no such collection; choose another one.")]})
        rows = rows.filter(collection=filters.collection)
    else:
        rows = rows.filter(collection__isnull=not by_collection)
    for name in ("workflow", "model", "language"):
        if value := getattr(filters, name):
            rows = rows.filter(**{name: value})
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
