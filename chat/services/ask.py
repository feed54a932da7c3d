"""Ask a question: store it, and set a run to answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
from chat.runs.attachments import FINISHED
from chat.runs.budgets import budget_check
from chat.runs.run import Run
from chat.services.assistant_asked import asked_by, assistant_take, filters_of, without_given
from chat.services.beginning import EarlyRun, run_begin
from chat.services.limits import check_limits, lock_asking
from chat.services.temporary import session_new
from ragsite.accounts.auth import bound_to
from ragsite.core.errors import InvalidInputError, TooLargeError
from ragsite.core.messages import worded
from ragsite.core.text import clean_line, clean_text
from retrieval.compose import get_engine
from retrieval.engine.providers.server import canonical
from retrieval.engine.text import quoting
from retrieval.engine.values import (
    AnswerOptions,
    DocumentTask,
    HistoryMessage,
    Question,
    SearchScope,
)
from retrieval.engine.workflows.registry import require_offered
from retrieval.knowledge.scopes import scope_attached, scope_for, scope_of_documents
from retrieval.knowledge.selectors import attached_documents, collection_addresses, documents_named
from retrieval.models import Document

TITLE_CHARS = 80
SHOWN_MODELS = 20
COMPARED = 2


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

    request: how to answer, as JSON (`RequestSerializer`): assistant, workflow, collections, filters, filters_mode, options,
    model, task, documents, history; what is absent is the site's default. session_id: of a session, or of files that were
    attached to a conversation which begins with this question.
    regenerated: the question of this answer is answered again; its answers so far are kept, superseded.
    edited: the question is another version of this one, which is kept with what follows it, superseded. Either is asked
    as it was before, but for what `request` holds.
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
        request = {**request, "model": await _model_chosen(model)}
    language = get_language()  # what follows has a context of its own
    early = EarlyRun()
    return await run_begin(
        partial(
            _answer_create,
            early=early,
            user=user,
            text=text,
            session_id=session_id,
            request={**request, "language": language} if language else dict(request),
            regenerated=regenerated,
            edited=edited,
            kept=kept,
            temporary=temporary,
        ),
        early=early,
    )


def _answer_create(
    *,
    early: EarlyRun,
    user: User,
    text: str,
    session_id: UUID | None,
    request: dict[str, Any],
    regenerated: Message | None,
    edited: Message | None,
    kept: bool,
    temporary: bool | None,
) -> Run:
    """Store the question, unless there is a row of it, and the empty answer. The run works from the moment on when
    nothing speaks against the question any more."""
    before = regenerated or (selectors.shown_answer(edited) if edited else None)
    request = _merged_request(before, request) if before else dict(request)
    _require_documents(request)
    budget_check(user)
    # Before the transaction, which makes others wait on SQLite from its beginning on.
    taken = assistant_take(request, user=user, session_id=session_id, as_before=before is not None)
    scope = taken.scope
    if scope is None:
        scope = request_scope(user=user, request=request)
        _keep_addresses(request, scope)
    workflow = request.pop("workflow", "") or settings.RAG.answer.workflow
    require_offered(workflow, settings.RAG)
    lease = answer_lease(uuid4())
    try:
        with transaction.atomic():
            lock_asking(user)
            check_limits(user)
            session = _session(user=user, session_id=session_id, kept=kept, temporary=temporary)
            is_new = session._state.adding
            session.assistant = dict(taken.remembered)
            session.collections = request.get("collections", []) if taken.scope is None else []
            session.workflow = workflow
            if not session.title or _is_named_by(edited, session):
                session.title = _title_of(text)
            if regenerated:
                question = _question_reopen(regenerated)
            else:
                last = (
                    edited.follows
                    if edited
                    else None
                    if is_new
                    else selectors.last_question(session.pk)
                )
                question = _question_new(session, text, edited, follows=last)
            answer = Message(
                id=lease.pk,
                session=session,
                role=Message.Role.ASSISTANT,
                reply_to=question,
                status=Message.Status.STREAMING,
                workflow=workflow,
                request=request,
                being_read=scope.being_read,
                **lease.columns(),
            )
            unread: list[UUID] = []
            if session_id is not None:  # files are attached to a conversation by its id
                scope, unread = with_attachments(scope, user=user, conversation_id=session.pk)
            answer.in_scope = scope.documents + len(unread)
            asked = replace(
                question_of(answer, user=user, scope=scope), again=regenerated is not None
            )
            run = Run(answer, asked, unread=unread)
            early.begin(run)
            session.save()
            Message.objects.bulk_create([answer] if regenerated else [question, answer])
    except IntegrityError as error:  # one_answer_at_once_per_session
        raise AnswerInProgressError from error
    return run


def with_attachments(
    scope: SearchScope, *, user: User, conversation_id: UUID
) -> tuple[SearchScope, list[UUID]]:
    """The scope beside the files of the conversation, and which of them are still to be read."""
    attached = dict(
        attached_documents(user=user, conversation_id=conversation_id).values_list("pk", "status")
    )
    if not attached:
        return scope, []
    unread = [key for key, status in attached.items() if status not in FINISHED]
    return scope.beside(scope_attached(user=user, conversation_id=conversation_id)), unread


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


def _merged_request(answer: Message, request: Mapping[str, Any]) -> dict[str, Any]:
    """How an answer was asked for, but for what `request` holds."""
    before = without_given({"workflow": answer.workflow, **answer.request})
    before.pop("offered", None)
    if "assistant" in request:  # another one brings its own way
        before.pop("workflow", None)
        before.pop("options", None)
    if "collections" in request:
        before.pop("collection_ids", None)
    if "filters" in request:
        before.pop("filters_mode", None)
    merged = {**before, **request}
    if "options" in request:  # those that it does not name stay as they were
        merged["options"] = {**before.get("options", {}), **request["options"]}
    return merged


def _keep_addresses(request: dict[str, Any], scope: SearchScope) -> None:
    """Ids tell a reader nothing: addresses are kept in their place. A name may mean another collection one day, so that
    the ids are kept, too."""
    if names := request.get("collections"):
        addresses = collection_addresses(scope.ids)
        request["collections"] = [addresses.get(name.lower(), name) for name in names]
        request["collection_ids"] = list(scope.ids)


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


def question_of(answer: Message, *, user: User, scope: SearchScope) -> Question:
    """What the engine is given for an answer that is to be written."""
    question = answer.reply_to
    request = answer.request
    assert question is not None
    documents = tuple(request.get("documents", ()))
    is_first = question.follows_id is None
    if "history" in request:  # of a client that sends all of a conversation each time
        history = tuple(HistoryMessage(**message) for message in request["history"])
    else:
        history = (
            () if is_first else selectors.history_before(question, limit=quoting.HISTORY_MESSAGES)
        )
    remembers = (
        answer.session.kept and bound_to(user) is None
    )  # what is remembered comes from any collection
    return Question(
        text=question.text,
        scope=scope,
        history=history,
        task=DocumentTask(request["task"], documents) if request.get("task") else None,
        filters=replace(filters_of(request), documents=documents),
        options=AnswerOptions(**request.get("options", {})),
        model=request.get("model", ""),
        assistant=asked_by(request),
        open_clarification=None if is_first else selectors.open_clarification_before(question),
        user_id=str(user.pk) if remembers else "",
        asker_id=str(user.pk),
        conversation_id=str(answer.session_id),
        answer_id=str(answer.pk),
        language=request.get("language", ""),
    )


def _require_documents(request: Mapping[str, Any]) -> None:
    """Raises InvalidInputError where a task lacks its documents."""
    ids = request.get("documents", ())
    task = request.get("task")
    if task in ("summarise", "compare") and not ids:
        raise InvalidInputError(
            worded("Name the document that this is about."),
            fields={"documents": [worded("At least one.")]},
        )
    if task == "compare" and len(ids) != COMPARED:
        raise InvalidInputError(
            worded("Name the two documents to compare."),
            fields={"documents": [worded("Exactly two.")]},
        )


def request_scope(*, user: User, request: Mapping[str, Any]) -> SearchScope:
    """What is searched: the collections of the documents that are named, else those that are named, else what is
    searched unasked. Raises CollectionNotFoundError, NotFoundError, InvalidInputError where a document is not read yet.
    """
    ids = request.get("documents", ())
    if not ids:
        return scope_for(
            user=user, names=request.get("collection_ids") or request.get("collections", ())
        )
    documents = documents_named(user=user, ids=ids)
    for document in documents:
        # For files of its conversation a question waits.
        if document.collection.conversation_id is None and document.status != Document.Status.READY:
            raise InvalidInputError(
                worded(
                    "“{title}” has not been read yet; ask again when it is ready.",
                    title=document.title,
                ),
                fields={"documents": [str(document.pk)]},
            )
    return scope_of_documents(documents)


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


async def _model_chosen(model: str) -> str:
    """Its whole name. Raises InvalidInputError for one that can't be chosen here and now."""
    status = await get_engine().models.status()
    if whole := next(
        (name for name in status.chat_models if canonical(name) == canonical(model)), ""
    ):
        return whole
    known = ", ".join(status.chat_models[:SHOWN_MODELS]) or "-"
    raise InvalidInputError(fields={"model": [worded("One of {known}.", known=known)]})


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
