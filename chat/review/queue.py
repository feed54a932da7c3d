"""The queue of answers: its filters, for pages, API and exports alike, and its pages.

Pages are keysets: a page begins after the row where the one before ended, however many rows came in between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from functools import reduce
from operator import or_
from typing import Any, Literal, NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chat.models import AnswerLabel, AnswerReview, Message, ReviewedCollection
from chat.review.marks import MAX_LABEL_CHARS
from chat.review.records import NOTED, REASONS
from chat.review.roles import PERMISSIONS, DeskAccess
from ragsite.core.api.fields import StrictQuerySerializer
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from retrieval.engine.workflows.registry import available_workflows
from retrieval.knowledge.collection_addresses import MAX_ADDRESS_CHARS
from retrieval.knowledge.selectors import as_uuid, collection_find, visible_collections
from retrieval.models import Collection

Sort = Literal["newest", "oldest", "worst"]
SORTS: dict[Sort, tuple[str, ...]] = {
    "newest": ("-created_at", "-id"),
    "oldest": ("created_at", "id"),
    "worst": ("-severity", "-created_at", "-id"),
}
RATED: dict[str, Q] = {
    "bad": Q(badly_rated=True),
    "good": Q(worst_score__gte=4),
    "any": Q(worst_score__isnull=False),
    "none": Q(worst_score=None),
    **{str(score): Q(worst_score=score) for score in range(1, 6)},
}
RATED |= {"up": RATED["good"], "down": RATED["bad"]}
ATTENTION = "attention"  # as a reason: one that wants a person's look
NOBODY = "nobody"  # as a reviewer: answers that are assigned to none
PAGE_SIZE = 50
MAX_PAGE_SIZE = 100
MAX_SEARCH_CHARS = 300
MAX_WORDS = 12
RARE = 1_000  # answers with a word
CHOICES = 60  # of labels
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = re.compile(r"-?\d{1,18}(?:\.-?\d{1,18}){1,2}")


# ------------------------------------------------------------------------------------------------ filters
@extend_schema_field({"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]})
class MomentField(serializers.CharField):
    """A day or a moment, ISO 8601. A day is its first moment; with `through` the first one of the next day."""

    def __init__(self, *, through: bool = False, **kwargs: Any) -> None:
        self.through = through
        super().__init__(required=False, allow_blank=True, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        try:
            return self._moment(super().to_internal_value(data))
        except (ValueError, OverflowError) as error:
            sentence = localized(worded("Give a day, YYYY-MM-DD, or a moment in ISO 8601."))
            raise serializers.ValidationError(sentence) from error

    def _moment(self, text: str) -> datetime:
        """Raises ValueError, OverflowError."""
        day = parse_date(text)
        moment = datetime.combine(day, time.min) if day else parse_datetime(text)
        if moment is None:
            raise ValueError(text)
        aware = moment if timezone.is_aware(moment) else timezone.make_aware(moment)
        return (aware + timedelta(days=1) if day and self.through else aware).astimezone(UTC)


def _text(most: int, help_text: str = "") -> serializers.CharField:
    return serializers.CharField(
        required=False, allow_blank=True, max_length=most, help_text=help_text
    )


def _choice(values: Any, help_text: str = "") -> serializers.ChoiceField:
    return serializers.ChoiceField(
        list(values), required=False, allow_blank=True, help_text=help_text
    )


class AnswerFilters(StrictQuerySerializer):
    """Filters of the queue; an empty one is left out. Unknown parameters are refused."""

    reason = _choice(
        (ATTENTION, *REASONS),
        "Why an answer is to be looked at; attention: for one that wants a person.",
    )
    rating = _choice(
        RATED, "The worst of its ratings: bad (1–2), good (4–5), any, none, or 1 to 5."
    )
    decision = _choice(Message.Decision.values)
    workflow = _choice(available_workflows())
    state = _choice(AnswerReview.State.values)
    collection = _text(MAX_ADDRESS_CHARS, "An id, or a name.")
    user = _text(150, "Who asked: for those who see names.")
    reviewer = _text(150, "To whom it is assigned, or who reviewed it; nobody: not assigned.")
    label: Any = _text(MAX_LABEL_CHARS)  # a field has an attribute of this name
    session = serializers.UUIDField(required=False, help_text="One conversation.")
    search = _text(MAX_SEARCH_CHARS, "Words that all occur in the question or the answer.")
    sort = _choice(SORTS)

    def get_fields(self) -> dict[str, serializers.Field]:
        moments = {
            "from": MomentField(help_text="A day or a moment."),
            "to": MomentField(through=True, help_text="A day, which is included, or a moment."),
        }
        return super().get_fields() | moments

    def to_internal_value(self, data: Any) -> Any:
        blank = {
            name for name, field in self.fields.items() if getattr(field, "allow_blank", False)
        }
        empty = {name for name in blank if data.get(name) == ""}
        return super().to_internal_value(
            {name: value for name, value in data.items() if name not in empty}
        )


FILTER_NAMES = tuple(AnswerFilters().get_fields())


class QueueQuery(AnswerFilters):
    """And which page: the cursors come from `next` and `previous`."""

    after = _text(80)
    before = _text(80)
    page_size = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_PAGE_SIZE, default=PAGE_SIZE
    )


class ExportQuery(AnswerFilters):
    """And which form. names: absent, as the role allows."""

    format = serializers.ChoiceField(["csv", "jsonl"], required=False, default="csv")
    names = serializers.BooleanField(
        required=False, help_text="Who asked; without it, as the role allows."
    )


def answers_queue(*, access: DeskAccess, chosen: Mapping[str, Any]) -> QuerySet[AnswerReview]:
    """The answers that the filters let through, unsorted. chosen: the validated data of AnswerFilters.

    Raises RightMissingError for a filter by names without the right, InvalidInputError for what is not there.
    """
    answers = AnswerReview.objects.all()
    if user := chosen.get("user"):
        access.require("names")
        answers = answers.filter(user__username=user)
    if collection := chosen.get("collection"):
        links = ReviewedCollection.objects.filter(
            answer=OuterRef("pk"), collection=_collection(access, collection)
        )
        answers = answers.filter(Exists(links))
    if label := chosen.get("label"):
        answers = answers.filter(
            Exists(AnswerLabel.objects.filter(answer=OuterRef("pk"), name=label))
        )
    if (reviewer := chosen.get("reviewer")) == NOBODY:
        answers = answers.filter(assignee=None)
    elif reviewer:
        named = Q(assignee__username=reviewer) | Q(assignee=None, state_by__username=reviewer)
        answers = answers.filter(named)
    for name in ("decision", "workflow", "state", "session"):
        if value := chosen.get(name):
            answers = answers.filter(**{name: value})
    if reason := chosen.get("reason"):
        answers = answers.filter(with_reason(reason))
    if rating := chosen.get("rating"):
        answers = answers.filter(RATED[rating])
    if since := chosen.get("from"):
        answers = answers.filter(created_at__gte=since)
    if until := chosen.get("to"):
        answers = answers.filter(created_at__lt=until)
    for word in chosen.get("search", "").split()[:MAX_WORDS]:
        answers = answers.filter(_with_word(word))
    return answers


def with_reason(reason: str) -> Q:
    if reason != ATTENTION:
        return Q(**{reason: True})
    return reduce(or_, (Q(**{name: True}) for name in REASONS if name not in NOTED))


def _with_word(word: str) -> Q:
    """In the answer or its question. A rare word is looked up beforehand, by the index of the texts; a frequent one is
    met soon when the answers are read in their order."""
    replies = (
        Message.objects.filter(role=Message.Role.ASSISTANT).order_by().values_list("pk", flat=True)
    )
    in_answer, in_question = (
        replies.filter(**{f"{text}__icontains_han": word}) for text in ("text", "reply_to__text")
    )
    found = list(in_answer.union(in_question, all=True)[: RARE + 1])
    if len(found) <= RARE:
        return Q(message__in=found)
    return Q(message__text__icontains_han=word) | Q(message__reply_to__text__icontains_han=word)


def _collection(access: DeskAccess, text: str) -> Collection:
    """By its id, or by a name as its reader calls it."""
    pk = as_uuid(text)
    known = collections_known(access.user)
    found = known.filter(pk=pk).first() if pk else collection_find(user=access.user, name=text)
    if found is None:
        raise InvalidInputError(
            fields={"collection": [worded("There is no such collection; choose another one.")]}
        )
    return found


# ------------------------------------------------------------------------------------------------ pages
class QueuePage(NamedTuple):
    """Cursors to its neighbours, empty where there is none."""

    rows: list[AnswerReview]
    before: str = ""
    after: str = ""


def answers_page(
    answers: QuerySet[AnswerReview], *, sort: Sort, size: int, after: str = "", before: str = ""
) -> QueuePage:
    """`after`, `before`: a cursor of an earlier page of the same order. Raises InvalidInputError for another text."""
    backwards = bool(before)
    rows = list(_beyond(answers, sort, before or after, backwards=backwards)[: size + 1])
    more = len(rows) > size
    rows = rows[:size]
    if backwards:
        rows.reverse()
    if not rows:
        return QueuePage([])
    has_before, has_after = (more, True) if backwards else (bool(after), more)
    return QueuePage(
        rows,
        before=cursor_of(rows[0], sort) if has_before else "",
        after=cursor_of(rows[-1], sort) if has_after else "",
    )


def neighbours(
    answers: QuerySet[AnswerReview], row: AnswerReview, sort: Sort
) -> tuple[UUID | None, UUID | None]:
    """The answers before and after a row in this order, whether or not the row is still among them."""
    cursor = cursor_of(row, sort)
    before, after = (
        _beyond(answers, sort, cursor, backwards=backwards)
        .values_list("message_id", flat=True)
        .first()
        for backwards in (True, False)
    )
    return before, after


def cursor_of(row: AnswerReview, sort: Sort) -> str:
    """Where a row stands in this order: whole numbers as they are, a time in microseconds."""
    values = (getattr(row, name.lstrip("-")) for name in SORTS[sort])
    numbers = (
        (one - EPOCH) // timedelta(microseconds=1) if isinstance(one, datetime) else one
        for one in values
    )
    return ".".join(map(str, numbers))


def _beyond(
    answers: QuerySet[AnswerReview], sort: Sort, cursor: str, *, backwards: bool
) -> QuerySet[AnswerReview]:
    order = SORTS[sort]
    if cursor:
        rising = order[0].startswith("-") is backwards
        lookup = TupleGreaterThan if rising else TupleLessThan
        names = [name.lstrip("-") for name in order]
        answers = answers.filter(lookup(Tuple(*map(F, names)), _place(cursor, names)))
    answers = answers.order_by(*order)
    return answers.reverse() if backwards else answers


def _place(cursor: str, names: Sequence[str]) -> tuple[Any, ...]:
    parts = cursor.split(".")
    try:
        if not _CURSOR.fullmatch(cursor) or len(parts) != len(names):
            raise ValueError(cursor)
        return tuple(
            EPOCH + timedelta(microseconds=int(part)) if name == "created_at" else int(part)
            for name, part in zip(names, parts, strict=True)
        )
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            fields={
                "cursor": [
                    worded("This page of the list does not exist. Start again from its first page.")
                ]
            }
        ) from error


# ------------------------------------------------------------------------------------------------ rows and choices
def with_details(answers: QuerySet[AnswerReview]) -> QuerySet[AnswerReview]:
    """With what a row of the queue shows, in a fixed number of queries."""
    return (
        answers.select_related("message__reply_to", "assignee", "state_by", "user")
        .prefetch_related("labels", "collections")
        .only(
            *(field.attname for field in AnswerReview._meta.fields),
            "message__text",
            "message__superseded",
            "message__usage",
            "message__workflow",
            "message__request",
            "message__reply_to__text",
            "assignee__username",
            "state_by__username",
            "user__username",
            "user__first_name",
            "user__last_name",
        )
    )


def answer_review_get(*, message_id: UUID) -> AnswerReview:
    """Of an answer that has ended. Raises NotFoundError."""
    row = with_details(AnswerReview.objects.filter(message=message_id)).first()
    if row is None:
        raise NotFoundError
    return row


def collections_known(user: User) -> QuerySet[Collection]:
    """Without the right to names only collections that the reader may read are shown: a private one tells whose
    question it was.

    What holds a conversation's attached files has no name that says anything.
    """
    collections = (
        Collection.objects if user.has_perm(PERMISSIONS["names"]) else visible_collections(user)
    )
    return collections.filter(conversation_id=None).select_related("owner").order_by("name", "pk")


def labels_found() -> list[str]:
    return list(
        AnswerLabel.objects.order_by("name").values_list("name", flat=True).distinct()[:CHOICES]
    )


def todo_counts() -> dict[str, int]:
    """`todo`, and each reason: how many of all answers are still to do, and for that reason."""
    todo = AnswerReview.objects.filter(state=AnswerReview.State.TODO)
    by_reason = {
        reason: Count("pk", filter=with_reason(reason)) for reason in (ATTENTION, *REASONS)
    }
    return todo.aggregate(todo=Count("pk"), **by_reason)
