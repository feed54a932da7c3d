"""Knowledge gaps as the desk shows them."""

from __future__ import annotations

from collections.abc import Set
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from feedback.models import GapDocument, GapQuestion, GapRequest, KnowledgeGap
from retrieval.knowledge.selectors import visible_documents

LARGEST_FIRST = (F("count").desc(), F("newest_at").desc(nulls_last=True), "-pk")


def requests_sent() -> QuerySet[GapRequest]:
    """To a person; what was withdrawn counts for nothing."""
    return GapRequest.objects.exclude(state=GapRequest.State.WITHDRAWN)


def replies_to_check() -> QuerySet[GapRequest]:
    """Answers to people that cite passages, of which nobody has made a checked answer or said that none is made."""
    return GapRequest.objects.filter(
        state=GapRequest.State.ANSWERED, curated=None, dismissed_at=None, sources__isnull=False
    )


def gap_ranking(*, state: str = "", assignee: str = "") -> QuerySet[KnowledgeGap]:
    """The largest first, with `count` and `newest_at`: what a page is cut from before `gap_list` looks closer at its
    gaps. assignee: a user name, "-" for nobody."""
    gaps = KnowledgeGap.objects.annotate(
        count=Count("questions"), newest_at=Max("questions__message__created_at")
    )
    if state:
        gaps = gaps.filter(state=state)
    if assignee == "-":
        gaps = gaps.filter(assignee=None)
    elif assignee:
        gaps = gaps.filter(assignee__username=assignee)
    return gaps.order_by(*LARGEST_FIRST)


def gap_list() -> QuerySet[KnowledgeGap]:
    """The largest first, with `called` (its newest question), `count`, `people`, `newest_at`, `wordings`, `asked_again`
    and `answered` (of these), and `waiting`: questions of it that were sent to a person; `to_check`: whether a reply
    waits for a curator. Some milliseconds for fifty of them, too much for all."""
    sent = requests_sent().filter(gap=OuterRef("pk")).order_by("-sent_at", "-pk")
    # Counted by itself: a join would repeat every question for each of them.
    open_ones = sent.filter(state=GapRequest.State.OPEN).order_by().values("gap")
    waiting = open_ones.annotate(number=Count("pk"))
    newest = GapQuestion.objects.filter(gap=OuterRef("pk")).order_by("-message__created_at", "-pk")
    again = Q(questions__answered__isnull=False)
    gaps = KnowledgeGap.objects.select_related("assignee", "collection").annotate(
        called=Coalesce(
            Subquery(newest.values("message__reply_to__text")[:1]),
            Subquery(sent.values("question")[:1]),
        ),
        to_check=Exists(replies_to_check().filter(gap=OuterRef("pk"))),
        waiting=Coalesce(Subquery(waiting.values("number")), 0),
        count=Count("questions", distinct=True),
        people=Count("questions__message__session__user", distinct=True),
        newest_at=Max("questions__message__created_at"),
        wordings=Count("questions__key", distinct=True),
        asked_again=Count("questions__key", distinct=True, filter=again),
        answered=Count("questions__key", distinct=True, filter=Q(questions__answered=True)),
    )
    return gaps.order_by(*LARGEST_FIRST)


def may_read_answer(user: User, *, gap_id: int, cited: Set[UUID] = frozenset()) -> bool:
    """Whether what answers a gap is for this person: all that a written answer cites, else any document that was added
    for it."""
    documents = visible_documents(user)
    if cited:
        return documents.filter(pk__in=cited).count() == len(cited)
    added = set(GapDocument.objects.filter(gap=gap_id).values_list("document", flat=True))
    return not added or documents.filter(pk__in=added).exists()
