"""Ask a question: store it, and set a run to answer it."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import get_language
from redis.exceptions import RedisError

from chat import selectors
from chat.errors import (
    AnswerInProgressError,
    MessageTooLargeError,
    SessionNotFoundError,
    TooManyAnswersError,
    TooManyQuestionsError,
)
from chat.models import Message, Session
from chat.runs.answers import UNLEASED, answer_lease, answers_mark_interrupted
from chat.runs.attachments import FINISHED
from chat.runs.run import Assignment, detach, run_start
from ragsite.core.errors import InvalidInputError, PermissionDeniedError
from ragsite.core.text import clean_line, clean_text
from ragsite.core.wording import worded
from ragsite.runtime import live_settings
from retrieval.engine import get_engine
from retrieval.models import Document
from retrieval.providers.server import canonical
from retrieval.selectors import (
    attached_documents,
    collection_addresses,
    documents_named,
    scope_as_asked,
    scope_attached,
    scope_for,
    scope_of_documents,
)
from retrieval.text import quoting
from retrieval.values import (
    AnswerOptions,
    DocumentTask,
    FiltersMode,
    Question,
    SearchFilters,
    SearchScope,
    TaskName,
)
from retrieval.workflows import available_workflows

logger = logging.getLogger(__name__)

TITLE_CHARS = 80
SHOWN_MODELS = 20
WINDOW_S = 60
MOST_DOCUMENTS = 10  # that one question names
COMPARED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question as it was put. `collections`: names or other addresses; none means all that is searched unasked.

    `session_id`: of a session, or of files that were attached to a conversation which begins with this question.
    `workflow`: "" the site's default. `model` writes the answer; "": the site's own. `model_kept`: it was chosen
    before, and may have gone since.
    `language`: of the asker's pages. `documents`: ids of those that alone are read or searched; `task`: what is asked
    of them as a whole, None: a question.
    """

    text: str
    session_id: UUID | None = None
    workflow: str = ""
    collections: tuple[str, ...] = ()
    filters: SearchFilters = field(default_factory=SearchFilters)
    filters_mode: FiltersMode = "strict"
    options: AnswerOptions = field(default_factory=AnswerOptions)
    model: str = ""
    model_kept: bool = False
    language: str = ""
    task: TaskName | None = None
    documents: tuple[str, ...] = ()


async def ask(
    *, user: User, question: Ask, regenerated: Message | None = None, edited: Message | None = None
) -> Assignment:
    """Store the question and begin to answer it; the answer's events are in the log under `message_id`.

    `regenerated`: the question of this answer is answered again; its answers so far are kept, superseded.
    `edited`: the question is another version of this one, which is kept with what follows it, superseded.

    Raises MessageTooLargeError, InvalidInputError, CollectionNotFoundError, SessionNotFoundError,
    AnswerInProgressError, TooManyQuestionsError, TooManyAnswersError.
    """
    if question.model and not question.model_kept:
        question = replace(question, model=await _model_chosen(question.model))
    question = replace(question, language=get_language() or "")  # what follows has a context of its own
    return await run_begin(partial(_answer_create, user=user, ask=question, regenerated=regenerated, edited=edited))


async def run_begin(create: Callable[[], Assignment]) -> Assignment:
    """Set a run to what `create` stores; called off the event loop."""

    def created() -> Assignment:
        live_settings.refresh()
        return create()

    async def begin() -> Assignment:
        assignment = await sync_to_async(created)()
        await run_start(assignment)
        # The open tabs learn that an answer has begun; each then follows the log by itself.
        event = {"type": "run.started", "message_id": str(assignment.message_id), "again": assignment.again}
        try:
            await get_channel_layer().group_send(session_group(assignment.session_id), event)
        except (RedisError, OSError) as error:
            logger.warning("open tabs do not know of message %s: %s", assignment.message_id, error)
        return assignment

    # The request may be cancelled at any moment; what is stored gets its run all the same.
    return await asyncio.shield(detach(begin()))


def asked_before(*, user: User, answer: Message, changes: Mapping[str, Any]) -> Ask:
    """The question of an answer as it was asked but for `changes` (fields of `Ask`). Raises CollectionNotFoundError."""
    assert answer.reply_to is not None
    request, collections = answer.request, tuple[str, ...]()
    if "collections" not in changes and (names := request.get("collections")):
        ids = request.get("collection_ids", [])
        collections = scope_as_asked(user=user, names=names, ids=ids, asked_at=answer.created_at).ids
    filters = request.get("filters", {})
    asked = Ask(
        text=answer.reply_to.text,
        session_id=answer.session_id,
        workflow=answer.workflow,
        collections=collections,
        filters=SearchFilters(**{**filters, "tags": tuple(filters.get("tags", ()))}),
        filters_mode=request.get("filters_mode", "strict"),
        options=AnswerOptions(**request.get("options", {})),
        model=request.get("model", ""),
        model_kept="model" not in changes,
        language=request.get("language", ""),
        task=request.get("task"),
        documents=tuple(request.get("documents", ())),
    )
    return replace(asked, **changes)


def _request(ask: Ask, scope: SearchScope) -> dict[str, Any]:
    """What the answer was asked with, as it is stored: for its replays and for being written anew."""
    # Ids tell a reader nothing: addresses are kept in their place. A name may mean another collection one day.
    addresses = collection_addresses(scope.ids) if ask.collections else {}
    collections = [addresses.get(name.lower(), name) for name in ask.collections]
    return {
        "collections": collections,
        "collection_ids": list(scope.ids) if collections else [],
        "filters": ask.filters.as_dict(),
        "filters_mode": ask.filters_mode,
        "options": {name: value for name, value in asdict(ask.options).items() if value is not None},
        **({"language": ask.language} if ask.language else {}),
        **({"model": ask.model} if ask.model else {}),
        **({"task": ask.task} if ask.task else {}),
        **({"documents": list(ask.documents)} if ask.documents else {}),
    }


def _answer_create(*, user: User, ask: Ask, regenerated: Message | None, edited: Message | None) -> Assignment:
    """Store the question, unless there is a row of it, and the empty answer; says what its run is to do."""
    ask = replace(ask, workflow=ask.workflow or settings.RAG.answer.workflow)
    _check(ask)
    scope = scope_asked(user=user, ask=ask)
    request = _request(ask, scope)
    answers_mark_interrupted(session__user=user)
    answer_id = uuid4()
    lease = answer_lease(answer_id)
    try:
        with transaction.atomic():
            lock_asking(user)
            session = _session(user=user, session_id=ask.session_id)
            check_limits(user)
            session.workflow, session.collections = ask.workflow, request["collections"]
            session.title = session.title or session_title(ask.text)
            session.save()
            if regenerated:
                asked = regenerated.reply_to
                assert asked is not None
                show(asked)
                Message.objects.filter(session=session, reply_to=asked).update(superseded=True, **UNLEASED)
            else:
                follows = None if ask.session_id is None else selectors.last_question(session.pk)
                if edited:
                    show(edited)
                    follows = edited.follows
                    selectors.versions_beside(edited).update(superseded=True)
                    Message.objects.filter(pk=edited.pk).update(superseded=True)
                asked = Message.objects.create(
                    session=session, role=Message.Role.USER, text=clean_text(ask.text), follows=follows
                )
            Message.objects.create(
                id=answer_id,
                session=session,
                role=Message.Role.ASSISTANT,
                reply_to=asked,
                status=Message.Status.STREAMING,
                workflow=ask.workflow,
                request=request,
                **lease.columns(),
            )
    except IntegrityError as error:  # one_answer_at_once_per_session
        raise AnswerInProgressError from error
    attached = {}
    if ask.session_id is not None:  # files are attached to a conversation by its id
        attached = dict(attached_documents(user=user, conversation_id=session.pk).values_list("pk", "status"))
    if attached:
        scope = scope.beside(scope_attached(user=user, conversation_id=session.pk))
    return Assignment(
        message_id=answer_id,
        run_id=lease.token,
        session_id=session.pk,
        user_message_id=asked.pk,
        workflow=ask.workflow,
        unread=tuple(key for key, status in attached.items() if status not in FINISHED),
        question=replace(
            question_to_answer(user=user, ask=ask, asked=asked, scope=scope, answer_id=answer_id),
            again=regenerated is not None,
        ),
    )


def question_to_answer(*, user: User, ask: Ask, asked: Message, scope: SearchScope, answer_id: UUID) -> Question:
    """What the engine is given. `asked`: the stored question."""
    is_first = ask.session_id is None
    return Question(
        text=asked.text,
        scope=scope,
        history=() if is_first else selectors.history_before(asked, limit=quoting.HISTORY_MESSAGES),
        task=DocumentTask(ask.task, ask.documents) if ask.task else None,
        filters=replace(ask.filters.in_mode(ask.filters_mode), documents=ask.documents),
        options=ask.options,
        model=ask.model,
        open_clarification=None if is_first else selectors.open_clarification_before(asked),
        user_id=str(user.pk),
        conversation_id=str(asked.session_id),
        answer_id=str(answer_id),
        language=ask.language,
    )


def scope_asked(*, user: User, ask: Ask) -> SearchScope:
    """What is searched: the collections of the documents that are named, else those that are named, else what is
    searched unasked. Raises CollectionNotFoundError, NotFoundError, InvalidInputError where a document is not read yet.
    """
    if not ask.documents:
        return scope_for(user=user, names=ask.collections)
    documents = documents_named(user=user, ids=ask.documents)
    for document in documents:
        # For files of its conversation a question waits.
        if document.collection.conversation_id is None and document.status != Document.Status.READY:
            raise InvalidInputError(
                worded("“{title}” has not been read yet; ask again when it is ready.", title=document.title),
                fields={"documents": [str(document.pk)]},
            )
    return scope_of_documents(documents)


def lock_asking(user: User) -> None:
    """One ask of a user at a time. Raises PermissionDeniedError: an open socket may outlive its account."""
    if not User.objects.select_for_update().filter(pk=user.pk, is_active=True).order_by().values_list("pk").first():
        raise PermissionDeniedError


def show(message: Message) -> None:
    """Make it, and what it follows, the versions that the conversation shows."""
    parents = {
        pk: (follows or reply_to, superseded)
        for pk, follows, reply_to, superseded in Message.objects.filter(session=message.session_id).values_list(
            "pk", "follows", "reply_to", "superseded"
        )
    }
    at: UUID | None = message.pk
    while at is not None:
        parent, superseded = parents[at]
        if superseded:
            hidden = Message.objects.get(pk=at)
            selectors.versions_beside(hidden).update(superseded=True)
            Message.objects.filter(pk=at).update(superseded=False)
        at = parent


def _check(ask: Ask) -> None:
    """The limits that a site may change while it runs. Raises MessageTooLargeError, InvalidInputError."""
    limits, search = settings.RAG.limits, settings.RAG.search
    if len(ask.text) > limits.message_chars:
        raise MessageTooLargeError(limits.message_chars)
    if not ask.text.strip():
        raise InvalidInputError(
            worded("The message is empty; write a question."), fields={"message": [worded("Write a question.")]}
        )
    if ask.workflow not in available_workflows():
        known = ", ".join(available_workflows())
        raise InvalidInputError(
            worded("There is no workflow of that name; choose one of {known}.", known=known),
            fields={"workflow": [worded("One of {known}.", known=known)]},
        )
    if ask.task and not ask.documents:
        raise InvalidInputError(
            worded("Name the document that this is asked of."), fields={"documents": [worded("One at least.")]}
        )
    if ask.task == "compare" and len(ask.documents) != COMPARED:
        raise InvalidInputError(
            worded("Name the two documents that are to be compared."), fields={"documents": [worded("Exactly two.")]}
        )
    top_k = ask.options.top_k
    if top_k is not None and not 1 <= top_k <= search.max_top_k:
        raise InvalidInputError(
            fields={"options": {"top_k": [worded("From 1 to {max_top_k}.", max_top_k=search.max_top_k)]}}
        )


async def _model_chosen(model: str) -> str:
    """Its whole name. Raises InvalidInputError for one that can't be chosen here and now."""
    status = await get_engine().models.status()
    if whole := next((name for name in status.chat_models if canonical(name) == canonical(model)), ""):
        return whole
    if status.chat_models:
        known = ", ".join(status.chat_models[:SHOWN_MODELS])
        raise InvalidInputError(fields={"model": [worded("One of {known}.", known=known)]})
    raise InvalidInputError(
        fields={"model": [worded("No model can be chosen now; leave it out, or try again shortly.")]}
    )


def _session(*, user: User, session_id: UUID | None) -> Session:
    """The user's session, locked, or one that is not stored yet. Raises SessionNotFoundError, AnswerInProgressError."""
    if session_id is None:
        return Session(user=user)
    session = Session.objects.select_for_update().filter(user=user, pk=session_id).order_by().first()
    if session is None:
        if selectors.conversation_exists(user=user, session_id=session_id):
            return Session(pk=session_id, user=user)
        raise SessionNotFoundError
    if session.messages.filter(status=Message.Status.STREAMING).exists():
        raise AnswerInProgressError
    return session


def check_limits(user: User) -> None:
    """Raises TooManyQuestionsError, TooManyAnswersError."""
    limits = settings.RAG.limits
    now = timezone.now()
    recent = selectors.answers_begun_since(user=user, since=now - timedelta(seconds=WINDOW_S))
    begun = list(recent.values_list("created_at", flat=True))
    if len(begun) >= limits.questions_per_minute:
        free_at = begun[-limits.questions_per_minute] + timedelta(seconds=WINDOW_S)
        wait_s = max(1, math.ceil((free_at - now).total_seconds()))
        raise TooManyQuestionsError(limits.questions_per_minute, retry_after_s=wait_s)
    if selectors.answers_running(user=user) >= limits.answers_at_once:
        raise TooManyAnswersError(limits.answers_at_once)


def session_title(text: str) -> str:
    """The first question on one line, cut at a word where there is one near the end."""
    title = clean_line(text)
    if len(title) <= TITLE_CHARS:
        return title
    cut = title[: TITLE_CHARS - 1]
    head, _, _ = cut.rpartition(" ")
    return (head if len(head) > TITLE_CHARS // 2 else cut).rstrip(" ,;:.-") + "…"


def session_group(session_id: UUID) -> str:
    """The channel layer's group of all open tabs on a session."""
    return f"chat.session.{session_id}"
