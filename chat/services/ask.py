"""Ask a question: store it, and set a run to answer it."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from redis.exceptions import RedisError

from chat import selectors
from chat.answering import DEFAULT_WORKFLOW, available_workflows
from chat.errors import (
    AnswerInProgressError,
    MessageTooLargeError,
    SessionNotFoundError,
    TooManyAnswersError,
    TooManyQuestionsError,
)
from chat.models import Message, Session
from chat.runs.answers import UNLEASED, answer_lease, answers_mark_interrupted
from chat.runs.run import Assignment, detach, run_start
from ragsite.core.errors import InvalidInputError, PermissionDeniedError
from ragsite.core.text import clean_text
from retrieval.selectors import collection_addresses, scope_for
from retrieval.text import quoting
from retrieval.values import AnswerOptions, Question, SearchFilters, SearchScope

logger = logging.getLogger(__name__)

TITLE_CHARS = 80
WINDOW_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question as it was put. `collections`: names or other addresses; none means all that is searched unasked."""

    text: str
    session_id: UUID | None = None
    workflow: str = DEFAULT_WORKFLOW
    collections: tuple[str, ...] = ()
    filters: SearchFilters = field(default_factory=SearchFilters)
    options: AnswerOptions = field(default_factory=AnswerOptions)

    def request(self, scope: SearchScope) -> dict[str, Any]:
        """What is stored with the answer, enough to ask the same again: a name may mean another collection by then."""
        options = {name: value for name, value in asdict(self.options).items() if value is not None}
        return {
            "collections": list(self.collections),
            "collection_ids": list(scope.ids) if self.collections else [],
            "filters": self.filters.as_dict(),
            "options": options,
        }

    def with_addresses(self, scope: SearchScope) -> Ask:
        """Ids, which tell a reader nothing, as addresses."""
        addresses = collection_addresses(scope.ids) if self.collections else {}
        return replace(self, collections=tuple(addresses.get(name.lower(), name) for name in self.collections))


async def ask(*, user: User, question: Ask) -> Assignment:
    """Store the question and begin to answer it; the answer's events are in the log under `message_id`.

    Raises MessageTooLargeError, InvalidInputError, CollectionNotFoundError, SessionNotFoundError,
    AnswerInProgressError, TooManyQuestionsError, TooManyAnswersError.
    """
    return await _begun(user=user, question=question, regenerated=None)


async def ask_again(*, user: User, question: Ask, regenerated: Message) -> Assignment:
    """Answer the question of `regenerated` anew; the old answer is kept, superseded. Raises as `ask` does."""
    return await _begun(user=user, question=question, regenerated=regenerated)


async def _begun(*, user: User, question: Ask, regenerated: Message | None) -> Assignment:
    """The request may be cancelled at any moment; what is stored gets its run all the same."""

    async def begin() -> Assignment:
        assignment = await sync_to_async(_prepare)(user=user, ask=question, regenerated=regenerated)
        await run_start(assignment)
        await _announce(assignment)
        return assignment

    return await asyncio.shield(detach(begin()))


def _prepare(*, user: User, ask: Ask, regenerated: Message | None) -> Assignment:
    _check(ask)
    scope = scope_for(user=user, names=ask.collections)
    answers_mark_interrupted(session__user=user)
    try:
        message = _answer_create(user=user, ask=ask.with_addresses(scope), scope=scope, regenerated=regenerated)
    except IntegrityError as error:  # one_answer_at_once_per_session
        raise AnswerInProgressError from error
    asked = message.reply_to
    assert asked is not None
    assert message.lease_token is not None
    return Assignment(
        message_id=message.pk,
        run_id=message.lease_token,
        session_id=message.session_id,
        user_message_id=asked.pk,
        workflow=message.workflow,
        question=Question(
            text=asked.text,
            scope=scope,
            history=selectors.history_before(asked, limit=quoting.HISTORY_MESSAGES),
            filters=ask.filters,
            options=ask.options,
            open_clarification=selectors.open_clarification_before(asked),
            user_id=str(user.pk),
            conversation_id=str(message.session_id),
            answer_id=str(message.pk),
        ),
    )


def _check(ask: Ask) -> None:
    limits, search = settings.RAG.limits, settings.RAG.search
    if len(ask.text) > limits.message_chars:
        raise MessageTooLargeError(limits.message_chars)
    if not ask.text.strip():
        raise InvalidInputError("The message is empty; write a question.", fields={"message": ["Write a question."]})
    if ask.workflow not in available_workflows():
        known = ", ".join(available_workflows())
        raise InvalidInputError(
            f"There is no workflow of that name; choose one of {known}.", fields={"workflow": [f"One of {known}."]}
        )
    top_k = ask.options.top_k
    if top_k is not None and not 1 <= top_k <= search.max_top_k:
        raise InvalidInputError(fields={"options": {"top_k": [f"From 1 to {search.max_top_k}."]}})


@transaction.atomic
def _answer_create(*, user: User, ask: Ask, scope: SearchScope, regenerated: Message | None) -> Message:
    """The question's row, unless there is one, and the empty answer's."""
    # One ask of a user at a time: the limits are counted below. An open socket may outlive its account.
    if not User.objects.select_for_update().filter(pk=user.pk, is_active=True).first():
        raise PermissionDeniedError
    session = _session(user=user, ask=ask)
    if session and session.messages.filter(status=Message.Status.STREAMING).exists():
        raise AnswerInProgressError
    _check_limits(user)
    session = session or Session.objects.create(user=user, title=session_title(ask.text))
    session.workflow, session.collections = ask.workflow, list(ask.collections)
    session.title = session.title or session_title(ask.text)
    session.save()
    if regenerated:
        asked = regenerated.reply_to
        Message.objects.filter(session=session, reply_to=asked).update(superseded=True, **UNLEASED)
    else:
        asked = Message.objects.create(session=session, role=Message.Role.USER, text=clean_text(ask.text))
    answer_id = uuid4()
    return Message.objects.create(
        id=answer_id,
        session=session,
        role=Message.Role.ASSISTANT,
        reply_to=asked,
        status=Message.Status.STREAMING,
        workflow=ask.workflow,
        request=ask.request(scope),
        **answer_lease(answer_id).columns(),
    )


def _session(*, user: User, ask: Ask) -> Session | None:
    if ask.session_id is None:
        return None
    session = Session.objects.filter(user=user, pk=ask.session_id).first()
    if session is None:
        raise SessionNotFoundError
    return session


def _check_limits(user: User) -> None:
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
    title = " ".join(clean_text(text).split())
    if len(title) <= TITLE_CHARS:
        return title
    cut = title[: TITLE_CHARS - 1]
    head, _, _ = cut.rpartition(" ")
    return (head if len(head) > TITLE_CHARS // 2 else cut).rstrip(" ,;:.-") + "…"


def session_group(session_id: UUID) -> str:
    """The channel layer's group of all open tabs on a session."""
    return f"chat.session.{session_id}"


async def _announce(assignment: Assignment) -> None:
    """Tell the open tabs that an answer has begun here; each then follows the log by itself."""
    event = {"type": "run.started", "message_id": str(assignment.message_id)}
    try:
        await get_channel_layer().group_send(session_group(assignment.session_id), event)
    except (RedisError, OSError) as error:
        logger.warning("open tabs were not told of message %s: %s", assignment.message_id, error)
