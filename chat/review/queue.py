"""The queue of answers: what it can be filtered and sorted by, and its pages.

Pages are keysets: a page begins after the row where the one before ended, however many rows came in between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from django.contrib.auth.models import Group, User
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan

from chat.models import AnswerLabel, AnswerReview, ReviewedCollection
from chat.review.records import REASONS
from chat.review.roles import PERMISSIONS, DeskAccess, is_at_the_desk
from chat.review.terms import wanted_terms, with_terms
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.wording import worded
from retrieval.models import Collection
from retrieval.selectors import as_uuid, collection_find, visible_collections

Sort = Literal["newest", "oldest", "worst", "slowest"]
SORTS: dict[Sort, tuple[str, ...]] = {
    "newest": ("-created_at", "-id"),
    "oldest": ("created_at", "id"),
    "worst": ("-severity", "-created_at", "-id"),
    "slowest": ("-total_ms", "-id"),
}
RATED: dict[str, Q] = {
    "bad": Q(badly_rated=True),
    "good": Q(worst_score__gte=4),
    "any": Q(worst_score__isnull=False),
    "none": Q(worst_score=None),
    **{str(score): Q(worst_score=score) for score in range(1, 6)},
}
NOBODY = "nobody"  # as a reviewer: answers that are assigned to none
COUNTED = 1_000  # rows of a queue are counted up to here
LEAST_GROUP = 5  # members of a group that answers can be filtered by without seeing names: a smaller one tells who
CHOICES = 60  # of a filter, found in the rows
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = re.compile(r"-?\d{1,18}(?:\.-?\d{1,18}){1,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFilters:
    """What the queue shows; empty values leave a filter out. `until` is exclusive.

    reviewer: a name, `nobody`, or empty. user: who asked, for those who see names. group: a name, of who asked.
    collection: an id, or a name.
    """

    reason: str = ""
    rating: str = ""
    decision: str = ""
    workflow: str = ""
    model: str = ""
    language: str = ""
    state: str = ""
    collection: str = ""
    group: str = ""
    user: str = ""
    reviewer: str = ""
    label: str = ""
    session: UUID | None = None
    search: str = ""
    since: datetime | None = None
    until: datetime | None = None
    sort: Sort = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """Cursors to its neighbours, empty where there is none."""

    rows: list[AnswerReview]
    before: str = ""
    after: str = ""


# ------------------------------------------------------------------------------------------------ rows
def answers_queue(*, access: DeskAccess, filters: AnswerFilters, in_order: bool = True) -> QuerySet[AnswerReview]:
    """The answers that the filters let through, unsorted. in_order: for pages of them, not for their count.

    Raises RightMissingError for a filter by names without the right, InvalidInputError for what is not there.
    """
    answers = AnswerReview.objects.all()
    if filters.user:
        access.require("names")
        if not User.objects.filter(username=filters.user).exists():
            raise InvalidInputError(fields={"user": [worded("There is no such user; choose another one.")]})
        answers = answers.filter(user__username=filters.user)
    if filters.group:
        group = groups_offered(access).filter(name=filters.group).first()
        if group is None:
            raise InvalidInputError(fields={"group": [worded("There is no such group; choose another one.")]})
        answers = answers.filter(user__groups=group)
    if filters.collection:
        asked = ReviewedCollection.objects.filter(
            answer=OuterRef("pk"), collection=_collection(access, filters.collection)
        )
        answers = answers.filter(Exists(asked))
    if filters.label:
        if not AnswerLabel.objects.filter(name=filters.label).exists():
            raise InvalidInputError(fields={"label": [worded("No answer has such a label; choose another one.")]})
        answers = answers.filter(Exists(AnswerLabel.objects.filter(answer=OuterRef("pk"), name=filters.label)))
    if filters.reviewer == NOBODY:
        answers = answers.filter(assignee=None)
    elif filters.reviewer:
        named = Q(assignee__username=filters.reviewer) | Q(assignee=None, state_by__username=filters.reviewer)
        if not (is_at_the_desk(filters.reviewer) or AnswerReview.objects.filter(named).exists()):
            raise InvalidInputError(fields={"reviewer": [worded("Nobody of that name works at the review desk.")]})
        answers = answers.filter(named)
    require_model(filters.model)
    for name in ("decision", "workflow", "model", "language", "state", "session"):
        if value := getattr(filters, name):
            answers = answers.filter(**{name: value})
    if filters.reason:
        answers = answers.filter(**{filters.reason: True})
    if filters.rating:
        answers = answers.filter(RATED[filters.rating])
    if filters.since:
        answers = answers.filter(created_at__gte=filters.since)
    if filters.until:
        answers = answers.filter(created_at__lt=filters.until)
    if filters.sort == "slowest":
        answers = answers.filter(total_ms__isnull=False)
    if filters.search:
        wanted = wanted_terms(filters.search)
        answers = with_terms(answers, wanted, in_order=in_order) if wanted else answers.none()
    return answers


def require_model(name: str) -> None:
    """Raises InvalidInputError for a model of which there is no answer; "" is none."""
    if name and not AnswerReview.objects.filter(model=name).exists():
        raise InvalidInputError(fields={"model": [worded("No answer is by such a model; choose another one.")]})


def answers_page(
    answers: QuerySet[AnswerReview], *, sort: Sort, size: int, after: str = "", before: str = ""
) -> QueuePage:
    """`after`, `before`: a cursor of an earlier page of the same order. Raises InvalidInputError for another text."""
    backwards = bool(before)
    rows = list(_beyond(with_details(answers), sort, before or after, backwards=backwards)[: size + 1])
    more, rows = len(rows) > size, rows[:size]
    if backwards:
        rows.reverse()
    if not rows:
        return QueuePage(rows=[])
    has_before, has_after = (more, True) if backwards else (bool(after), more)
    return QueuePage(
        rows=rows,
        before=cursor_of(rows[0], sort) if has_before else "",
        after=cursor_of(rows[-1], sort) if has_after else "",
    )


def answers_after(
    answers: QuerySet[AnswerReview], *, sort: Sort, size: int, after: str = ""
) -> tuple[QuerySet[AnswerReview], str]:
    """The next `size` rows, unsorted and without details, and the cursor behind them, empty at the end."""
    columns = [name.lstrip("-") for name in SORTS[sort]]
    rows = list(_beyond(answers, sort, after, backwards=False).only(*columns)[: size + 1])
    cursor = cursor_of(rows[size - 1], sort) if len(rows) > size else ""
    return AnswerReview.objects.filter(pk__in=[row.pk for row in rows[:size]]), cursor


def neighbours(answers: QuerySet[AnswerReview], row: AnswerReview, sort: Sort) -> tuple[UUID | None, UUID | None]:
    """The answers before and after a row in this order, whether or not the row is still among them."""
    cursor = cursor_of(row, sort)
    before, after = (
        _beyond(answers, sort, cursor, backwards=backwards).values_list("message_id", flat=True).first()
        for backwards in (True, False)
    )
    return before, after


def counts_up_to(wanted: Mapping[str, tuple[QuerySet[AnswerReview], int]]) -> dict[str, int]:
    """Of each how many there are, but its bound for more; all of them in one statement."""
    parts: dict[str, tuple[str, tuple[Any, ...]]] = {}
    for name, (answers, most) in wanted.items():
        with suppress(EmptyResultSet):
            parts[name] = answers.order_by().values("pk")[:most].query.sql_with_params()
    counts = dict.fromkeys(wanted, 0)
    if parts:
        with connection.cursor() as cursor:
            counted = ", ".join(f"(SELECT COUNT(*) FROM ({sql}) counted)" for sql, _ in parts.values())  # noqa: S608
            cursor.execute(f"SELECT {counted}", [value for _, values in parts.values() for value in values])
            counts |= dict(zip(parts, cursor.fetchone(), strict=True))
    return counts


def with_details(answers: QuerySet[AnswerReview]) -> QuerySet[AnswerReview]:
    """With what a row of the queue shows, in a fixed number of queries."""
    return (
        answers.select_related("message__reply_to", "assignee", "state_by", "user")
        .prefetch_related("labels", "collections")
        .only(
            *(field.attname for field in AnswerReview._meta.fields),
            "message__text", "message__superseded", "message__usage", "message__reply_to__text",
            "assignee__username", "state_by__username", "user__username",
        )
    )  # fmt: skip


def answer_review_get(*, message_id: UUID) -> AnswerReview:
    """Of an answer that has ended. Raises NotFoundError."""
    row = with_details(AnswerReview.objects.filter(message=message_id)).first()
    if row is None:
        raise NotFoundError
    return row


def _collection(access: DeskAccess, text: str) -> Collection:
    """By its id, or by a name as its reader calls it."""
    offered = collections_offered(access)
    pk = as_uuid(text)
    found = offered.filter(pk=pk).first() if pk else collection_find(user=access.user, name=text)
    if found is None:
        raise InvalidInputError(fields={"collection": [worded("There is no such collection; choose another one.")]})
    return found


# ------------------------------------------------------------------------------------------------ cursors
def cursor_of(row: AnswerReview, sort: Sort) -> str:
    """Where a row stands in this order."""
    return ".".join(str(_number(getattr(row, name.lstrip("-")))) for name in SORTS[sort])


def _beyond(answers: QuerySet[AnswerReview], sort: Sort, cursor: str, *, backwards: bool) -> QuerySet[AnswerReview]:
    order = SORTS[sort]
    if cursor:
        rising = order[0].startswith("-") is backwards
        lookup = TupleGreaterThan if rising else TupleLessThan
        names = [name.lstrip("-") for name in order]
        answers = answers.filter(lookup(Tuple(*map(F, names)), _place(cursor, names)))
    answers = answers.order_by(*order)
    return answers.reverse() if backwards else answers


def _place(cursor: str, names: Sequence[str]) -> tuple[Any, ...]:
    if not _CURSOR.fullmatch(cursor) or len(parts := cursor.split(".")) != len(names):
        raise InvalidInputError(fields={"cursor": [worded("Take it from the address of another page.")]})
    try:
        return tuple(
            EPOCH + timedelta(microseconds=int(part)) if name == "created_at" else int(part)
            for name, part in zip(names, parts, strict=True)
        )
    except OverflowError as error:
        raise InvalidInputError(fields={"cursor": [worded("Take it from the address of another page.")]}) from error


def _number(value: Any) -> int:
    """Whole numbers as they are, a time in microseconds."""
    return (value - EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) else int(value)


# ------------------------------------------------------------------------------------------------ choices
def values_found(*columns: str) -> dict[str, list[str]]:
    """Of each of these indexed columns its values, at most CHOICES, each found by a look into the index.

    One statement that goes from value to value ("loose index scan", wiki.postgresql.org/wiki/Loose_indexscan).
    """
    table = connection.ops.quote_name(AnswerReview._meta.db_table)
    steps, picks = [], []
    for name in columns:
        column = connection.ops.quote_name(name)
        least = f"SELECT MIN({column}) FROM {table} WHERE {column} >"  # noqa: S608
        onward = f"SELECT ({least} value) FROM {name}_found WHERE value IS NOT NULL"  # noqa: S608
        steps.append(f"{name}_found(value) AS ({least} '' UNION ALL {onward})")
        pick = f"SELECT '{name}', value FROM {name}_found WHERE value IS NOT NULL LIMIT {CHOICES}"  # noqa: S608
        picks.append(f"SELECT * FROM ({pick}) {name}_picked")  # noqa: S608
    found: dict[str, list[str]] = {name: [] for name in columns}
    with connection.cursor() as cursor:
        cursor.execute(f"WITH RECURSIVE {', '.join(steps)} {' UNION ALL '.join(picks)}")
        for name, value in cursor.fetchall():
            found[name].append(value)
    return {name: sorted(values) for name, values in found.items()}


def groups_offered(access: DeskAccess) -> QuerySet[Group]:
    """Those that answers can be filtered by; without names only where many are in it."""
    groups = Group.objects.order_by("name")
    if access.sees_names:
        return groups
    return groups.annotate(members=Count("user")).filter(members__gte=LEAST_GROUP)


def collections_offered(access: DeskAccess) -> QuerySet[Collection]:
    return collections_known(access.user)


def collections_known(user: User) -> QuerySet[Collection]:
    """Who sees no names sees no collections but those they may read: a private one tells whose question it was.

    What holds a conversation's attached files has no name that says anything.
    """
    collections = Collection.objects if user.has_perm(PERMISSIONS["names"]) else visible_collections(user)
    return collections.filter(conversation_id=None).select_related("owner").order_by("name", "pk")


def labels_found() -> list[str]:
    return list(AnswerLabel.objects.order_by("name").values_list("name", flat=True).distinct()[:CHOICES])


def queue_counts(shown: QuerySet[AnswerReview]) -> dict[str, int]:
    """`shown`: how many the queue shows, up to COUNTED + 1. `todo`, and each reason: how many of all answers are still
    to do, and for that reason, up to COUNTED."""
    todo = AnswerReview.objects.filter(state=AnswerReview.State.TODO)
    reasons = {reason: (todo.filter(**{reason: True}), COUNTED) for reason in REASONS}
    return counts_up_to({"shown": (shown, COUNTED + 1), "todo": (todo, COUNTED), **reasons})
