"""Reads of conversations. Whose they are is part of every query: not there and not yours answer alike."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.db.models.lookups import LessThan

from chat.errors import MessageNotFoundError, SessionNotFoundError
from chat.models import Message, Session
from chat.ratings import get_ratings
from ragsite.core.errors import NotFoundError
from ragsite.core.text import clean_text
from ragsite.core.wording import worded
from retrieval.models import Document
from retrieval.selectors import attached_collections, attached_documents, document_get
from retrieval.values import Clarification, HistoryMessage, OpenClarification

REMEMBERED = (Message.Status.COMPLETE, Message.Status.STOPPED)


# ------------------------------------------------------------------------------------------------ sessions
def session_list(*, user: User, search: str = "") -> QuerySet[Session]:
    """The user's sessions, last used first; `search` looks into titles and messages."""
    sessions = Session.objects.filter(user=user).annotate(message_count=Count("messages"))
    search = clean_text(search).strip()
    if search:
        matching = Message.objects.filter(session=OuterRef("pk"), superseded=False, text__icontains=search)
        sessions = sessions.filter(Q(title__icontains=search) | Exists(matching))
    return sessions.order_by("-updated_at", "pk")


def session_get(*, user: User, session_id: UUID) -> Session:
    """Raises SessionNotFoundError."""
    session = session_list(user=user).filter(pk=session_id).first()
    if session is None:
        raise SessionNotFoundError
    return session


# ------------------------------------------------------------------------------------------------ attached files
def attachment_list(*, user: User, session_id: UUID) -> QuerySet[Document]:
    """The files of one of the user's conversations, or of one that begins with its first question.

    Raises SessionNotFoundError.
    """
    if not conversation_exists(user=user, session_id=session_id):
        raise SessionNotFoundError
    return attached_documents(user=user, conversation_id=session_id)


def attachment_get(*, user: User, document_id: UUID) -> Document:
    """Raises NotFoundError for any other document."""
    document = document_get(user=user, document_id=document_id)
    if document.collection.conversation_id is None:
        raise NotFoundError(worded("This document is not attached to a conversation of yours."))
    return document


def conversation_exists(*, user: User, session_id: UUID) -> bool:
    """Whether it is one of the user's sessions, or has files and is to begin with its first question."""
    if Session.objects.filter(user=user, pk=session_id).exists():
        return True
    return attached_collections(user).filter(conversation_id=session_id).exists()


# ------------------------------------------------------------------------------------------------ messages
def _in_order(messages: QuerySet[Message]) -> QuerySet[Message]:
    """Questions by time, each followed by its answers: an answer written anew stays with its question."""
    return messages.annotate(asked_at=Coalesce("reply_to__created_at", "created_at")).order_by(
        "asked_at", "created_at", "pk"
    )


def _with_details(messages: QuerySet[Message], user: User | None) -> QuerySet[Message]:
    """Everything that `chat.messages.data` shows, in a fixed number of queries."""
    messages = messages.select_related("session").prefetch_related("sources", "decision_steps")
    if user is None:
        return messages
    return get_ratings().with_ratings(messages, user=user)


def message_list(*, user: User, session: Session, superseded: bool = False) -> QuerySet[Message]:
    """The messages of one of the user's sessions in the order of the conversation."""
    messages = Message.objects.filter(session=session, session__user=user)
    if not superseded:
        messages = messages.filter(superseded=False)
    return _in_order(_with_details(messages, user))


def message_get(*, user: User, message_id: UUID) -> Message:
    """Raises MessageNotFoundError."""
    message = _with_details(Message.objects.filter(pk=message_id, session__user=user), user).first()
    if message is None:
        raise MessageNotFoundError
    return message


def message_find(message_id: UUID) -> Message | None:
    """Any message with its details: for the run that wrote it and for readers who were let in before."""
    return _with_details(Message.objects.filter(pk=message_id), None).first()


# ------------------------------------------------------------------------------------------------ what a question needs
def _earlier(question: Message) -> QuerySet[Message]:
    messages = Message.objects.filter(session_id=question.session_id, superseded=False).exclude(pk=question.pk)
    before = Coalesce("reply_to__created_at", "created_at")
    return _in_order(messages.filter(LessThan(before, question.created_at)))


def history_before(question: Message, *, limit: int) -> tuple[HistoryMessage, ...]:
    """At most `limit` earlier messages, oldest first: questions, and answers that were finished or stopped."""
    newest_first = _earlier(question).filter(status__in=REMEMBERED).exclude(text="").reverse()[:limit]
    return tuple(
        HistoryMessage(role="user" if message.role == Message.Role.USER else "assistant", text=message.text)
        for message in reversed(newest_first)
    )


def open_clarification_before(question: Message) -> OpenClarification | None:
    """Set where the last answer before this question asked back."""
    last = _earlier(question).filter(role=Message.Role.ASSISTANT).select_related("reply_to").last()
    if last is None or last.decision != Message.Decision.CLARIFY or last.reply_to is None or not last.clarification:
        return None
    asked = Clarification(
        question=last.clarification.get("question", last.text), options=tuple(last.clarification.get("options", ()))
    )
    return OpenClarification(question=last.reply_to.text, clarification=asked)


def answers_begun_since(*, user: User, since: datetime) -> QuerySet[Message]:
    """The user's answers begun after a moment, oldest first."""
    return Message.objects.filter(session__user=user, role=Message.Role.ASSISTANT, created_at__gt=since).order_by(
        "created_at"
    )


def answers_begun_in(*, session_id: UUID, since: datetime) -> list[UUID]:
    """Ids of the answers that were begun in a session after a moment, oldest first."""
    begun = Message.objects.filter(session=session_id, role=Message.Role.ASSISTANT, created_at__gt=since)
    return list(begun.order_by("created_at").values_list("pk", flat=True))


def answers_running(*, user: User) -> int:
    """How many of the user's answers are being written."""
    return Message.objects.filter(session__user=user, status=Message.Status.STREAMING).count()
