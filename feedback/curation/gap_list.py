"""The desk's list of knowledge gaps and what one of them holds, in pages. For who has a role at the desk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from django.db.models import Case, Count, Exists, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from chat.review.queue import collections_offered
from chat.review.roles import DeskAccess, is_at_the_desk
from feedback.models import GapDocument, GapQuestion, KnowledgeGap
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.wording import worded
from retrieval.models import SITE
from retrieval.selectors import as_uuid
from retrieval.text.analysis import query_terms

Sort = Literal["largest", "newest"]
SORTS: dict[Sort, tuple[str, ...]] = {
    "largest": ("-questions", "-newest_at", "-id"),
    "newest": ("-newest_at", "-id"),
}
TODO = "todo"  # as a state: open and in work
TODO_STATES = (KnowledgeGap.State.OPEN, KnowledgeGap.State.IN_WORK)
NOBODY = "nobody"
MAX_SEARCH_CHARS = 200
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = re.compile(r"\d{1,18}(?:\.\d{1,18}){1,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GapFilters:
    """state: one of `KnowledgeGap.State`, `todo`, or empty for all. assignee: a name, `nobody`, or empty. collection:
    an id. search: a piece of a question."""

    state: str = TODO
    assignee: str = ""
    collection: str = ""
    search: str = ""
    sort: Sort = "largest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """after: the cursor of the next page, "" at the end."""

    rows: list[Any]
    after: str = ""


def gaps_shown(access: DeskAccess, filters: GapFilters) -> QuerySet[KnowledgeGap]:
    """With `called`, the newest question of the wording that a gap is known by. Raises InvalidInputError."""
    gaps = gaps_called().filter(merged_into=None)
    if filters.state == TODO:
        gaps = gaps.filter(state__in=TODO_STATES)
    elif filters.state:
        gaps = gaps.filter(state=filters.state)
    if filters.assignee == NOBODY:
        gaps = gaps.filter(assignee=None)
    elif filters.assignee:
        if not (is_at_the_desk(filters.assignee) or gaps.filter(assignee__username=filters.assignee).exists()):
            raise InvalidInputError(fields={"assignee": [worded("Nobody of that name works at the review desk.")]})
        gaps = gaps.filter(assignee__username=filters.assignee)
    if filters.collection:
        wanted = as_uuid(filters.collection)
        if wanted is None or not collections_offered(access).filter(pk=wanted).exists():
            raise InvalidInputError(fields={"collection": [worded("There is no such collection; choose another one.")]})
        gaps = gaps.filter(collection=wanted)
    if search := " ".join(filters.search.split())[:MAX_SEARCH_CHARS]:
        gaps = gaps.filter(Exists(GapQuestion.objects.filter(gap=OuterRef("pk"), text__icontains_han=search)))
    return gaps


def gaps_called() -> QuerySet[KnowledgeGap]:
    newest = GapQuestion.objects.filter(gap=OuterRef("pk")).order_by("-at", "-id").values("text")[:1]
    of_leader = GapQuestion.objects.filter(gap=OuterRef("pk"), key=OuterRef("leader")).order_by("-at", "-id")
    called = Coalesce(Subquery(of_leader.values("text")[:1]), Subquery(newest))
    return KnowledgeGap.objects.select_related("assignee", "state_by", "collection__owner", "merged_into").annotate(
        called=called
    )


def gaps_page(gaps: QuerySet[KnowledgeGap], *, sort: Sort, size: int, after: str = "") -> Page:
    """Raises InvalidInputError for a cursor of another order."""
    return _page(gaps, SORTS[sort], size, after)


def gap_get(gap_id: int) -> KnowledgeGap:
    """Raises NotFoundError."""
    gap = gaps_called().filter(pk=gap_id).first()
    if gap is None:
        raise NotFoundError
    return gap


def wordings_page(gap: KnowledgeGap, *, size: int, after: str = "") -> Page:
    """Its wordings: key, asked (how often), newest_at, newest (the row). Those that were not answered when they were
    asked again come first, then those that were not asked again, each the latest asked first."""
    left = Case(When(answered=False, then=2), When(answered=None, then=1), default=0, output_field=IntegerField())
    wordings = (
        gap.rows.order_by()
        .values("key")
        .annotate(left=Max(left), asked=Count("pk"), newest_at=Max("at"), last=Max("pk"))
    )
    page = _page(wordings, ("-left", "-newest_at", "-last"), size, after)
    newest = GapQuestion.objects.filter(pk__in=[row["last"] for row in page.rows]).select_related("replay")
    by_pk = newest.in_bulk()
    rows = [{**row, "newest": by_pk[row["last"]]} for row in page.rows if row["last"] in by_pk]
    return Page(rows=rows, after=page.after)


def gap_documents(gap: KnowledgeGap) -> QuerySet[GapDocument]:
    """What was added for it, and for the gaps that were merged into it."""
    return GapDocument.objects.filter(Q(gap=gap) | Q(gap__merged_into=gap))


def questions_page(gap: KnowledgeGap, *, key: str, size: int, after: str = "") -> Page:
    """Of one wording each time that it was asked, the latest first."""
    return _page(gap.rows.filter(key=key), ("-at", "-id"), size, after)


def collection_named_for(access: DeskAccess, gaps: Sequence[KnowledgeGap]) -> dict[int, str]:
    """Gap id → the name of its collection, of those that this person may know."""
    ids = {gap.collection_id for gap in gaps if gap.collection_id}
    offered = collections_offered(access).filter(pk__in=ids)
    names = {row.pk: row.address.removeprefix(SITE) for row in offered}
    return {gap.pk: names[gap.collection_id] for gap in gaps if gap.collection_id in names}


def gaps_like(gap: Any, *, most: int) -> list[Any]:
    """Gaps that `gap` could be one with: to do, those first whose names have most terms in common."""
    others = gaps_called().filter(state__in=TODO_STATES, merged_into=None).exclude(pk=gap.pk)
    own = set(query_terms(gap.called or ""))
    found = list(others.order_by("-questions", "-id")[:most])
    return sorted(found, key=lambda other: -len(own & set(query_terms(other.called or ""))))


def gaps_reopened() -> int:
    """How many are to do again."""
    return KnowledgeGap.objects.filter(state__in=TODO_STATES, merged_into=None).exclude(reopened="").count()


def gap_counts() -> dict[str, int]:
    """How many gaps are in each state."""
    return dict(KnowledgeGap.objects.filter(merged_into=None).order_by().values_list("state").annotate(Count("pk")))


# ------------------------------------------------------------------------------------------------ cursors
def _page(rows: QuerySet[Any, Any], order: Sequence[str], size: int, after: str) -> Page:
    """All columns fall."""
    names = [name.removeprefix("-") for name in order]
    if after:
        rows = rows.filter(_beyond(names, _place(after, names)))
    found = list(rows.order_by(*order)[: size + 1])
    more, found = len(found) > size, found[:size]
    return Page(rows=found, after=_cursor(found[-1], names) if more else "")


def _beyond(names: Sequence[str], place: Sequence[Any]) -> Q:
    """Rows that come after this place; written out, for aggregates can't stand in a tuple."""
    beyond = Q()
    for number, name in enumerate(names):
        same = Q(**dict(zip(names[:number], place[:number], strict=True)))
        beyond |= same & Q(**{f"{name}__lt": place[number]})
    return beyond


def _cursor(row: Any, names: Sequence[str]) -> str:
    values = [row[name] if isinstance(row, dict) else getattr(row, name) for name in names]
    return ".".join(str((v - EPOCH) // timedelta(microseconds=1) if isinstance(v, datetime) else v) for v in values)


def _place(cursor: str, names: Sequence[str]) -> list[Any]:
    parts = cursor.split(".")
    if not _CURSOR.fullmatch(cursor) or len(parts) != len(names):
        raise InvalidInputError(fields={"after": [worded("Take it from the address of another page.")]})
    try:
        return [
            EPOCH + timedelta(microseconds=int(part)) if name in ("at", "newest_at") else int(part)
            for name, part in zip(names, parts, strict=True)
        ]
    except OverflowError as error:
        raise InvalidInputError(fields={"after": [worded("Take it from the address of another page.")]}) from error
