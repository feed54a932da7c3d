"""Ask a question: store it, and set a run to answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.text import Truncator
from django.utils.translation import get_language

from chat import selectors
from chat.errors import AnswerInProgressError, SessionNotFoundError
from chat.models import Message, Session
from chat.runs.answers import UNLEASED, answer_lease
from chat.runs.budgets import budget_check
from chat.runs.run import Run
from chat.services.asked_request import (
    keep_addresses,
    merged_request,
    model_chosen,
    question_of,
    request_scope,
    require_documents,
    with_attachments,
)
from chat.services.assistant_asked import (
    AppliedAssistant,
    assistant_apply,
)
from chat.services.beginning import EarlyRun, run_begin
from chat.services.limits import check_limits, lock_asking
from chat.services.temporary import session_new
from ragsite.core.errors import InvalidInputError, TooLargeError
from ragsite.core.messages import worded
from ragsite.core.text import clean_line, clean_text
from retrieval.engine.values import (
    SearchScope,
)
from retrieval.engine.workflows.registry import require_offered

TITLE_CHARS = 80


async def ask(
    *,
    user: User,
    text: str,
    session_id: UUID | None = None,
    request: Mapping[str, Any],
    regenerated: Message | None = None,
    edited: Message | None = None,
    kept: bool = True,
    temporary: bool | None = None,
) -> Run:
    """Store the question and begin to answer it; the answer's events are in the log under the id of `run.message`.

    request: how to answer, as JSON (`RequestSerializer`): assistant, workflow, collections, filters, filters_mode,
    options, model, task, documents, history; what is absent is the site's default. session_id: of a session, or of
    files that were attached to a conversation which begins with this question. regenerated: the question of this answer
    is answered again; its answers so far are kept, superseded. edited: the question is another version of this one,
    which is kept with what follows it, superseded. Either is asked as it was before, but for what `request` holds.
    kept: whether a new conversation is. temporary: whether a new one that is kept is deleted after a day; None: as the
    site has it.

    Raises TooLargeError, InvalidInputError, CollectionNotFoundError, AssistantNotFoundError,
    AssistantCollectionsUnreadableError, SessionNotFoundError, AnswerInProgressError, RateLimitedError,
    BudgetUsedUpError, TemporaryForbiddenError, TemporaryEnforcedError.
    """
    if len(text) > (limit := settings.RAG.limits.message_chars):
        raise TooLargeError(
            worded(
                "The message is too long: write at most {limit:,} characters, or attach the text as a file.",
                limit=limit,
            ),
            code="message_too_large",
            fields={"message": [worded("At most {limit} characters.", limit=limit)]},
        )
    if model := request.get("model"):
        request = {**request, "model": await model_chosen(model)}
    language = get_language()  # what follows has a context of its own
    new = _NewQuestion(
        user=user,
        text=text,
        session_id=session_id,
        request={**request, "language": language} if language else request,
        regenerated=regenerated,
        edited=edited,
        kept=kept,
        temporary=temporary,
    )
    early = EarlyRun()
    return await run_begin(partial(_answer_create, new, early=early), early=early)


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewQuestion:
    """What `ask` was given."""

    user: User
    text: str
    session_id: UUID | None
    request: Mapping[str, Any]
    regenerated: Message | None
    edited: Message | None
    kept: bool
    temporary: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _ResolvedRequest:
    """How a question is to be answered. request: as it is stored with the answer. taken: from its assistant."""

    request: dict[str, Any]
    workflow: str
    scope: SearchScope
    taken: AppliedAssistant


def _answer_create(new: _NewQuestion, *, early: EarlyRun) -> Run:
    """Store the question, unless there is a row of it, and the empty answer. The run works from the moment on when
    nothing speaks against the question any more."""
    # Before the transaction, which makes others wait on SQLite from its beginning on.
    resolved = _resolved(new)
    try:
        with transaction.atomic():
            lock_asking(new.user)
            check_limits(new.user)
            session = _session_for(new, resolved)
            question = _question_for(new, session)
            run = _run_for(new, resolved, session, question)
            early.begin(run)
            session.save()
            rows = [run.message] if new.regenerated else [question, run.message]
            Message.objects.bulk_create(rows)
    except IntegrityError as error:  # one_answer_at_once_per_session
        raise AnswerInProgressError from error
    return run


def _resolved(new: _NewQuestion) -> _ResolvedRequest:
    """Raises what `ask` raises for a request that can't be served, and for a budget that is used up."""
    before = new.regenerated
    if new.edited and not before:
        before = selectors.shown_answer(new.edited)
    request = merged_request(before, new.request) if before else dict(new.request)
    require_documents(request)
    budget_check(new.user)
    taken = assistant_apply(
        request, user=new.user, session_id=new.session_id, as_before=before is not None
    )
    scope = taken.scope
    if scope is None:
        scope = request_scope(user=new.user, request=request)
        keep_addresses(request, scope)
    workflow = request.pop("workflow", "") or settings.RAG.answer.workflow
    require_offered(workflow, settings.RAG)
    return _ResolvedRequest(request=request, workflow=workflow, scope=scope, taken=taken)


def _session_for(new: _NewQuestion, resolved: _ResolvedRequest) -> Session:
    """Not stored yet, with what it remembers of its last question. Raises SessionNotFoundError."""
    session = _session(
        user=new.user, session_id=new.session_id, kept=new.kept, temporary=new.temporary
    )
    taken = resolved.taken
    session.assistant = dict(taken.remembered)
    session.collections = resolved.request.get("collections", []) if taken.scope is None else []
    session.workflow = resolved.workflow
    if not session.title or _is_named_by(new.edited, session):
        session.title = _title_of(new.text)
    return session


def _question_for(new: _NewQuestion, session: Session) -> Message:
    """The one whose answer is regenerated, else a new one, not stored yet."""
    if new.regenerated:
        return _question_reopen(new.regenerated)
    follows: Message | None = None
    if new.edited:
        follows = new.edited.follows
    elif not session._state.adding:
        follows = selectors.last_question(session.pk)
    return _question_new(session, new.text, new.edited, follows=follows)


def _run_for(
    new: _NewQuestion, resolved: _ResolvedRequest, session: Session, question: Message
) -> Run:
    """With the empty answer, leased to it and not stored yet."""
    lease = answer_lease(uuid4())
    answer = Message(
        id=lease.pk,
        session=session,
        role=Message.Role.ASSISTANT,
        reply_to=question,
        status=Message.Status.STREAMING,
        workflow=resolved.workflow,
        request=resolved.request,
        being_read=resolved.scope.being_read,
        **lease.columns(),
    )
    scope = resolved.scope
    unread: list[UUID] = []
    if new.session_id is not None:  # files are attached to a conversation by its id
        scope, unread = with_attachments(scope, user=new.user, conversation_id=session.pk)
    answer.in_scope = scope.documents + len(unread)
    asked = question_of(answer, user=new.user, scope=scope)
    return Run(answer, replace(asked, again=new.regenerated is not None), unread=unread)


def _title_of(text: str) -> str:
    return Truncator(clean_line(text)).chars(TITLE_CHARS)


def _is_named_by(question: Message | None, session: Session) -> bool:
    """Whether the conversation goes by this question, its first one, and was not renamed. Once it is shared its title
    stays: readers see it as it was."""
    if (
        question is None
        or question.follows_id is not None
        or session.title != _title_of(question.text)
    ):
        return False
    return not session.shares.exists()


def _question_new(
    session: Session, text: str, edited: Message | None, *, follows: Message | None
) -> Message:
    """Not stored yet; `edited` and its versions are superseded by it."""
    if edited:
        show(edited)
        selectors.versions_beside(edited).update(superseded=True)
        Message.objects.filter(pk=edited.pk).update(superseded=True)
    return Message(session=session, role=Message.Role.USER, text=clean_text(text), follows=follows)


def _question_reopen(answer: Message) -> Message:
    """Its question, of which the answers so far are superseded."""
    question = answer.reply_to
    assert question is not None
    show(question)
    Message.objects.filter(session=answer.session_id, reply_to=question).update(
        superseded=True, **UNLEASED
    )
    return question


def show(message: Message) -> None:
    """Make it, and what it follows, the versions that the conversation shows."""
    parents = {
        pk: (follows or reply_to, superseded)
        for pk, follows, reply_to, superseded in Message.objects.filter(
            session=message.session_id
        ).values_list("pk", "follows", "reply_to", "superseded")
    }
    at: UUID | None = message.pk
    while at is not None:
        parent, superseded = parents[at]
        if superseded:
            hidden = Message.objects.get(pk=at)
            selectors.versions_beside(hidden).update(superseded=True)
            Message.objects.filter(pk=at).update(superseded=False)
        at = parent


def _session(*, user: User, session_id: UUID | None, kept: bool, temporary: bool | None) -> Session:
    """The user's session, locked, or one that is not stored yet. Raises SessionNotFoundError, AnswerInProgressError,
    InvalidInputError, TemporaryForbiddenError, TemporaryEnforcedError."""
    if session_id is None:
        return session_new(user=user, kept=kept, temporary=temporary)
    session = (
        selectors.own_sessions(user).select_for_update().filter(pk=session_id).order_by().first()
    )
    if session is None:
        if selectors.conversation_exists(user=user, session_id=session_id):
            return session_new(user=user, temporary=temporary, pk=session_id)
        raise SessionNotFoundError
    if temporary not in (None, session.is_temporary):
        raise InvalidInputError(
            fields={"temporary": [worded("Only a new conversation can be begun so; leave it out.")]}
        )
    if session.messages.filter(status=Message.Status.STREAMING).exists():
        raise AnswerInProgressError
    return session
