"""Reads of conversations. Whose they are is part of every query: not there and not yours answer alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count, Exists, F, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.db.models.lookups import LessThan
from django.utils import timezone

from chat.errors import MessageNotFoundError, SessionNotFoundError
from chat.feedback import get_feedback
from chat.messages.ages import sources_with_ages
from chat.models import Message, Session
from ragsite.accounts.auth import bound_to, key_of
from ragsite.core.text import clean_line, clean_text
from retrieval.engine.text.languages import to_simplified
from retrieval.engine.values import Clarification, HistoryMessage, OpenClarification
from retrieval.knowledge.selectors import attached_collections, attached_documents
from retrieval.models import Document

OWNER = F("message__session__user")  # of a rated message
AROUND = 30  # characters of an excerpt on each side
REMEMBERED = (Message.Status.COMPLETE, Message.Status.CUT, Message.Status.STOPPED)


# ------------------------------------------------------------------------------------------------ sessions
def own_sessions(user: User) -> QuerySet[Session]:
    """The user's; those that it began where they came in by an API key that is bound to collections. A temporary one is
    there until its time is over, whether it is deleted yet or not."""
    own = Session.objects.filter(_unexpired(), user=user)
    return own if bound_to(user) is None else own.filter(key=key_of(user))


def _unexpired() -> Q:
    return Q(expires_at=None) | Q(expires_at__gt=timezone.now())


def session_list(
    *, user: User, search: str = "", archived: bool | None = None, folder: str | None = None
) -> QuerySet[Session]:
    """The user's sessions, pinned ones first, then last used first; `search` looks into titles and messages.

    archived: only those, or only the others. folder: of that name; "": in none.
    """
    sessions = _with_listed(own_sessions(user).filter(kept=True))
    if archived is not None:
        sessions = sessions.filter(archived_at__isnull=not archived)
    if folder is not None:
        sessions = sessions.filter(folder=folder)
    search = clean_text(search).strip()
    if search:
        matching = Message.objects.filter(
            session=OuterRef("pk"), superseded=False, text__icontains_han=search
        )
        sessions = sessions.filter(Q(title__icontains_han=search) | Exists(matching))
    return sessions.order_by(F("pinned_at").desc(nulls_last=True), "-updated_at", "pk")


def excerpts(sessions: Sequence[Session], search: str) -> dict[UUID, str]:
    """Where the words stand in each of these sessions first, with a little around them."""
    messages = Message.objects.filter(
        session__in=sessions, superseded=False, text__icontains_han=search
    )
    found: dict[UUID, str] = {}
    for session_id, text in messages.order_by("created_at").values_list("session_id", "text"):
        at = to_simplified(text).lower().find(to_simplified(search).lower())
        if session_id not in found and at >= 0:
            start = max(0, at - AROUND)
            end = at + len(search) + AROUND
            found[session_id] = (
                f"{'…' if start else ''}{clean_line(text[start:end])}{'…' if end < len(text) else ''}"
            )
    return found


def with_message_count(sessions: QuerySet[Session]) -> QuerySet[Session]:
    """Each with `message_count`; counted of those rows alone that are read, not of all before they are sorted."""
    own = Message.objects.filter(session=OuterRef("pk")).order_by().values("session")
    count = Subquery(own.annotate(count=Count("pk")).values("count"))
    return sessions.annotate(message_count=Coalesce(count, 0))


def _with_listed(sessions: QuerySet[Session]) -> QuerySet[Session]:
    """What `chat.messages.sessions.SessionSerializer` shows of each."""
    return with_message_count(sessions).prefetch_related("shares")


def folder_list(*, user: User) -> QuerySet[Session, Any]:
    """`{"name", "session_count"}` of the user's folders, by name; what is archived is in none of them."""
    filed = own_sessions(user).filter(archived_at=None).exclude(folder="").order_by()
    return filed.values(name=F("folder")).annotate(session_count=Count("pk")).order_by("name")


def session_get(*, user: User, session_id: UUID) -> Session:
    """One that is listed, or a temporary one. Raises SessionNotFoundError."""
    readable = own_sessions(user).filter(Q(kept=True) | Q(expires_at__isnull=False))
    session = _with_listed(readable).filter(pk=session_id).first()
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


def conversation_exists(*, user: User, session_id: UUID) -> bool:
    """Whether it is one of the user's sessions, or has files and is to begin with its first question."""
    if own_sessions(user).filter(pk=session_id).exists():
        return True
    if Session.objects.filter(pk=session_id).exists():  # another's, or its time is over
        return False
    return attached_collections(user).filter(conversation_id=session_id).exists()


# ------------------------------------------------------------------------------------------------ messages
def own_messages(user: User) -> QuerySet[Message]:
    """Those of `own_sessions`."""
    return Message.objects.filter(session__in=own_sessions(user))


def _in_order(messages: QuerySet[Message]) -> QuerySet[Message]:
    """Questions by time, each followed by its answers: another version of an answer stays with its question."""
    return messages.annotate(asked_at=Coalesce("reply_to__created_at", "created_at")).order_by(
        "asked_at", "created_at", "pk"
    )


def _with_details(messages: QuerySet[Message], user: User | F | None) -> QuerySet[Message]:
    """Everything that `chat.messages.data` shows, in a fixed number of queries."""
    messages = messages.select_related("session", "reply_to").prefetch_related(
        Prefetch("sources", sources_with_ages(user)), "decision_steps"
    )
    if user is None:
        return messages
    return get_feedback().with_ratings(messages, user=user)


def _shown(session_id: UUID) -> QuerySet[Message]:
    """What the conversation is now: of each question and answer the chosen version, and only what follows these."""
    messages = Message.objects.filter(session=session_id, superseded=False)
    questions = Message.objects.filter(session=session_id, role=Message.Role.USER)
    if not questions.filter(superseded=True).exists():
        return messages
    hidden: set[UUID] = set()
    for pk, follows, superseded in questions.order_by("created_at", "pk").values_list(
        "pk", "follows", "superseded"
    ):
        if superseded or follows in hidden:
            hidden.add(pk)
    return messages.exclude(pk__in=hidden).exclude(reply_to__in=hidden)


def message_list(*, user: User, session: Session) -> QuerySet[Message]:
    """The messages that one of the user's sessions shows, in the order of the conversation."""
    messages = _shown(session.pk).filter(session__in=own_sessions(user))
    return _in_order(_with_details(messages, user))


def _versions(message: Message) -> Q:
    if message.role == Message.Role.ASSISTANT:
        return Q(
            role=Message.Role.ASSISTANT, reply_to=message.reply_to_id, session=message.session_id
        )
    return Q(role=Message.Role.USER, follows=message.follows_id, session=message.session_id)


def version_list(*, user: User, message: Message) -> QuerySet[Message]:
    """All versions of a question or an answer, itself included, oldest first."""
    found = own_messages(user).filter(_versions(message))
    return _with_details(found, user).order_by("created_at", "pk")


def versions_beside(message: Message) -> QuerySet[Message]:
    """The other ones."""
    return Message.objects.filter(_versions(message)).exclude(pk=message.pk)


def with_versions(messages: Iterable[Message]) -> list[Message]:
    """Each message gets `version_ids`: the ids of its versions, oldest first. One query."""
    page = list(messages)
    sessions = {message.session_id for message in page}
    rows = Message.objects.filter(session__in=sessions).order_by("created_at", "pk")
    versions: dict[tuple[Any, ...], list[UUID]] = {}
    for row in rows.values_list("session", "role", "reply_to", "follows", "pk"):
        versions.setdefault(row[:-1], []).append(row[-1])
    for message in page:
        key = (message.session_id, message.role, message.reply_to_id, message.follows_id)
        message.version_ids = versions.get(key, [message.pk])  # type: ignore[attr-defined]
    return page


def messages_shared(*, session_id: UUID, ids: Sequence[str]) -> QuerySet[Message]:
    """Those of a session that were shared and are still there; who may read them, `chat.services.sharing` decides."""
    messages = Message.objects.filter(session=session_id, pk__in=ids).exclude(
        status=Message.Status.STREAMING
    )
    return _in_order(_with_details(messages, None))


def last_question(session_id: UUID) -> Message | None:
    """The newest one of what is shown."""
    return _shown(session_id).filter(role=Message.Role.USER).order_by("created_at", "pk").last()


def shown_answer(question: Message) -> Message | None:
    return question.replies.filter(superseded=False).order_by("created_at", "pk").last()


def message_get(*, user: User, message_id: UUID) -> Message:
    """Raises MessageNotFoundError."""
    message = _with_details(own_messages(user).filter(pk=message_id), user).first()
    if message is None:
        raise MessageNotFoundError
    return with_versions([message])[0]


def message_find(message_id: UUID) -> Message | None:
    """Any message with its details, its owner's ratings included: for the run that wrote it and for readers who were
    let in before."""
    messages = Message.objects.filter(pk=message_id).select_related("session__user")
    message = _with_details(messages, OWNER).first()
    return with_versions([message])[0] if message else None


# ------------------------------------------------------------------------------------------------ what a question needs
def _earlier(question: Message) -> QuerySet[Message]:
    messages = _shown(question.session_id).exclude(pk=question.pk)
    if question._state.adding:  # it is the newest
        return _in_order(messages)
    before = Coalesce("reply_to__created_at", "created_at")
    return _in_order(messages.filter(LessThan(before, question.created_at)))


def history_before(question: Message, *, limit: int) -> tuple[HistoryMessage, ...]:
    """At most `limit` earlier messages, oldest first: questions, and answers that were finished or stopped."""
    newest_first = (
        _earlier(question).filter(status__in=REMEMBERED).exclude(text="").reverse()[:limit]
    )
    return tuple(
        HistoryMessage(
            role="user" if message.role == Message.Role.USER else "assistant", text=message.text
        )
        for message in reversed(newest_first)
    )


def open_clarification_before(question: Message) -> OpenClarification | None:
    """Set where the last answer before this question asked back."""
    last = _earlier(question).filter(role=Message.Role.ASSISTANT).select_related("reply_to").last()
    if (
        last is None
        or last.decision != Message.Decision.CLARIFY
        or last.reply_to is None
        or not last.clarification
    ):
        return None
    return OpenClarification(question=last.reply_to.text, clarification=clarification_of(last))


def clarification_of(answer: Message) -> Clarification:
    """What an answer asked back."""
    stored = answer.clarification or {}
    return Clarification(
        question=stored.get("question", answer.text),
        options=tuple(stored.get("options", ())),
        documents=tuple(stored.get("documents", ())),
    )
