"""A person's notifications, and what each says: of what it is about only as much as the person may see now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from chat.models import Message
from feedback.models import GapRequest
from feedback.requests.addressees import requests_from, requests_to
from feedback.requests.request_data import name_of
from ragsite.core.localized import translate, translate_count
from ragsite.models import Notification, NotificationPreference
from retrieval.knowledge.selectors import visible_collections, visible_documents
from retrieval.models import Collection, Document

Kind = Notification.Kind
MOST_COUNTED = 100
QUESTION_CHARS = 160


@dataclass(frozen=True, slots=True)
class ShownNotification:
    """In the reader's language. address: of the page that it leads to; empty: what it is about is gone, or the reader
    may not see it any more."""

    id: int
    kind: str
    text: str
    detail: str
    address: str
    created_at: datetime
    is_read: bool


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    address: str
    detail: str = ""


def notification_list(*, user: User, unread: bool = False) -> QuerySet[Notification]:
    """The latest first."""
    rows = Notification.objects.filter(user=user)
    return rows.filter(read_at=None) if unread else rows


def unread_count(user: User) -> int:
    """At most MOST_COUNTED."""
    return len(
        notification_list(user=user, unread=True)
        .order_by()
        .values_list("pk", flat=True)[:MOST_COUNTED]
    )


def emailed_kinds(user: User) -> list[str]:
    row = NotificationPreference.objects.filter(user=user).first()
    return list(row.emailed) if row else []


def shown_notifications(rows: Iterable[Notification], *, user: User) -> list[ShownNotification]:
    """What they say to `user`, in one query for each kind of thing."""
    listed = list(rows)
    found: dict[str, dict[UUID, Any]] = {}
    for name, (kinds, lookup) in _LOOKUPS.items():
        ids = {UUID(row.subject) for row in listed if row.kind in kinds}
        found[name] = lookup(user, ids) if ids else {}
    shown = []
    for row in listed:
        table = next(name for name, (kinds, _) in _LOOKUPS.items() if row.kind in kinds)
        subject = found[table].get(UUID(row.subject))
        said = _SAID[Kind(row.kind)](subject, row) if subject is not None else _gone(row)
        shown.append(
            ShownNotification(
                id=row.pk,
                kind=row.kind,
                text=said.text,
                detail=said.detail,
                address=said.address,
                created_at=row.created_at,
                is_read=row.read_at is not None,
            )
        )
    return shown


def pending_emails(*, quiet: timedelta) -> dict[int, list[Notification]]:
    """By person, what is to be sent and still unread, the oldest first; nobody who got an e-mail less than `quiet`
    ago."""
    since = timezone.now() - quiet
    lately = NotificationPreference.objects.filter(last_email_at__gt=since).values("user")
    rows = Notification.objects.filter(
        email_pending=True, read_at=None, user__is_active=True
    ).exclude(user__in=lately)
    by_person: dict[int, list[Notification]] = {}
    for row in rows.order_by("created_at", "pk"):
        by_person.setdefault(row.user_id, []).append(row)
    return by_person


# ------------------------------------------------------------------------------------------------ what they are about
def _collections(user: User, ids: set[UUID]) -> dict[UUID, Collection]:
    return visible_collections(user).select_related("owner").in_bulk(ids)


def _documents(user: User, ids: set[UUID]) -> dict[UUID, Document]:
    return visible_documents(user).prefetch_related("newer_versions").in_bulk(ids)


def _answers(user: User, ids: set[UUID]) -> dict[UUID, Message]:
    own = Message.objects.filter(session__user=user, reply_to__isnull=False)
    return own.select_related("reply_to").in_bulk(ids)


def _received(user: User, ids: set[UUID]) -> dict[UUID, GapRequest]:
    return requests_to(user).select_related("collection__owner").in_bulk(ids)


def _sent(user: User, ids: set[UUID]) -> dict[UUID, GapRequest]:
    return requests_from(user).select_related("message", "ended_by").in_bulk(ids)


_LOOKUPS: dict[str, tuple[frozenset[Kind], Callable[[User, set[UUID]], dict[UUID, Any]]]] = {
    "collections": (frozenset({Kind.SHARE}), _collections),
    "documents": (
        frozenset({Kind.DOCUMENT_FAILED, Kind.DOCUMENT_REPLACED, Kind.DOCUMENT_OVERDUE}),
        _documents,
    ),
    "answers": (
        frozenset({Kind.QUESTION_ANSWERED, Kind.RATINGS_APPLIED, Kind.SOURCE_CHANGED}),
        _answers,
    ),
    "received": (frozenset({Kind.REQUEST_RECEIVED}), _received),
    "sent": (frozenset({Kind.REQUEST_ENDED}), _sent),
}


# ------------------------------------------------------------------------------------------------ what they say
def _gone(row: Notification) -> _Said:
    return _Said(
        str(Kind(row.kind).label), "", translate("It is gone, or you can no longer see it.")
    )


def _share(collection: Collection, row: Notification) -> _Said:
    by = collection.owner.get_username() if collection.owner else ""
    text = translate("{person} shares “{name}” with you", person=by, name=collection.name)
    return _Said(text, reverse("documents"), translate("Choose whether your questions search it."))


def _failed(document: Document, row: Notification) -> _Said:
    text = translate("“{title}” could not be read", title=document.title)
    return _Said(text, reverse("document", args=[document.pk]), document.localized_error)


def _replaced(document: Document, row: Notification) -> _Said:
    newer = document.newer_version or document
    by = newer.uploaded_by.get_username() if newer is not document and newer.uploaded_by else ""
    text = translate("“{title}” was replaced by a newer version", title=document.title)
    detail = translate("{person} uploaded it.", person=by) if by else ""
    return _Said(text, reverse("document", args=[newer.pk]), detail)


def _question(answer: Message) -> str:
    return _line(answer.reply_to.text if answer.reply_to else "")


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUESTION_CHARS else line[: QUESTION_CHARS - 1] + "…"


def _answered(answer: Message, row: Notification) -> _Said:
    text = translate("Your question “{question}” was taken care of", question=_question(answer))
    detail = translate("Ask it again: it should have an answer now.")
    return _Said(text, reverse("chat_session", args=[answer.session_id]), detail)


def _ratings(answer: Message, row: Notification) -> _Said:
    text = translate_count(
        "Your ratings moved {count} source of “{question}”",
        "Your ratings moved {count} sources of “{question}”",
        row.count,
        question=_question(answer),
    )
    return _Said(text, reverse("chat_session", args=[answer.session_id]))


def _overdue(document: Document, row: Notification) -> _Said:
    """count: of all the documents that it is about."""
    if row.count > 1:
        text = translate("{count} documents of yours are overdue for review", count=row.count)
        return _Said(text, f"{reverse('documents')}?review=overdue")
    text = translate("“{title}” is overdue for review", title=document.title)
    detail = translate("Say that it still holds, or replace it.")
    if not document.overdue:
        detail = translate("It has been taken care of since.")
    return _Said(text, reverse("document", args=[document.pk]), detail)


def _source_changed(answer: Message, row: Notification) -> _Said:
    """count: of the answers that cite it; the one that it leads to is the newest."""
    text = translate_count(
        "A document that your answer to “{question}” cites has changed",
        "A document that {count} answers of yours cite has changed, also that to “{question}”",
        row.count,
        question=_question(answer),
    )
    address = reverse("chat_session", args=[answer.session_id])
    return _Said(
        text, f"{address}#message-{answer.pk}", translate("Ask again to see what holds now.")
    )


def _to_answer(request: GapRequest, row: Notification) -> _Said:
    text = translate("A question for you: “{question}”", question=_line(request.question))
    collection = request.collection
    detail = translate("About “{name}”", name=collection.name) if collection else ""
    return _Said(text, reverse("request", args=[request.pk]), detail)


def _ended(request: GapRequest, row: Notification) -> _Said:
    """Leads to the question in its conversation, below which the reply stands."""
    question = _line(request.question)
    message = request.message
    address = reverse("request", args=[request.pk])
    if message is not None:
        session = reverse("chat_session", args=[message.session_id])
        address = f"{session}#message-{message.reply_to_id}"
    if not request.reply:
        text = translate("Your question “{question}” was taken care of", question=question)
        return _Said(text, address, translate("Ask it again: it should have an answer now."))
    by = name_of(request.ended_by) if request.ended_by else translate("Somebody")
    if request.state == GapRequest.State.DECLINED:
        text = translate(
            "{person} declined your question “{question}”", person=by, question=question
        )
        return _Said(text, address, _line(request.reply))
    text = translate("{person} answered your question “{question}”", person=by, question=question)
    return _Said(text, address)


_SAID: dict[Kind, Callable[[Any, Notification], _Said]] = {
    Kind.SHARE: _share,
    Kind.DOCUMENT_FAILED: _failed,
    Kind.DOCUMENT_REPLACED: _replaced,
    Kind.QUESTION_ANSWERED: _answered,
    Kind.RATINGS_APPLIED: _ratings,
    Kind.DOCUMENT_OVERDUE: _overdue,
    Kind.SOURCE_CHANGED: _source_changed,
    Kind.REQUEST_RECEIVED: _to_answer,
    Kind.REQUEST_ENDED: _ended,
}
