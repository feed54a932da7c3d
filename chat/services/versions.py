"""An earlier question again, as it was or in other words; going on with an answer; and which version is shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from chat import selectors
from chat.errors import AnswerInProgressError
from chat.messages.sources import source_value
from chat.models import Message, Session
from chat.runs.answers import answer_lease, answers_mark_interrupted, steps_stored
from chat.runs.budgets import budget_check
from chat.runs.run import Run
from chat.services.ask import ask, show
from chat.services.asked_request import question_of, request_scope
from chat.services.beginning import run_begin
from chat.services.limits import check_limits, lock_asking
from ragsite.core.errors import ConflictError, InvalidInputError
from ragsite.core.messages import worded
from retrieval.compose import get_engine
from retrieval.engine.steps.answer.continuation import PartialAnswer
from retrieval.engine.values import SearchScope
from retrieval.engine.workflows.base import require_writer

INCOMPLETE = (Message.Status.CUT, Message.Status.STOPPED, Message.Status.INTERRUPTED)


async def message_regenerate(*, user: User, message_id: UUID, request: Mapping[str, Any]) -> Run:
    """Answer its question again, as it was asked but for what `request` holds; the old answer is superseded.

    Raises MessageNotFoundError, AnswerInProgressError, and what `ask` raises.
    """
    message = await sync_to_async(selectors.message_get)(user=user, message_id=message_id)
    if message.reply_to is None:
        raise InvalidInputError(
            worded("Only an answer can be written again; give the answer's id, not the question's.")
        )
    if message.status == Message.Status.STREAMING:
        raise AnswerInProgressError
    return await ask(
        user=user,
        text=message.reply_to.text,
        session_id=message.session_id,
        request=request,
        regenerated=message,
    )


async def message_edit(
    *, user: User, message_id: UUID, text: str, request: Mapping[str, Any]
) -> Run:
    """Ask a question in other words, as it was asked else but for what `request` holds: a branch of the conversation.

    The question as it was stays, with its answers and all that follows them. An answer's id means the question that it
    replies to: over HTTP the asker learns that id alone. Raises MessageNotFoundError, AnswerInProgressError, and what
    `ask` raises.
    """
    message = await sync_to_async(selectors.message_get)(user=user, message_id=message_id)
    question = message.reply_to or message
    return await ask(
        user=user, text=text, session_id=message.session_id, request=request, edited=question
    )


async def message_continue(*, user: User, message_id: UUID) -> Run:
    """Go on with an answer that was cut, stopped or interrupted, in the same message and from the same sources.

    Where nothing of it was written yet, it is written from its beginning. Raises MessageNotFoundError,
    InvalidInputError, AnswerInProgressError, ConflictError where it is complete, RateLimitedError,
    BudgetUsedUpError, UnavailableError where no model can be used.
    """
    message = await sync_to_async(selectors.message_get)(user=user, message_id=message_id)
    if message.role != Message.Role.ASSISTANT:
        raise InvalidInputError(
            worded("Only an answer can be continued; give the answer's id, not the question's.")
        )
    if message.status == Message.Status.STREAMING:
        raise AnswerInProgressError
    if message.status not in INCOMPLETE:
        raise ConflictError(
            worded(
                "Only an answer that was cut, stopped or interrupted can be continued. Have this one written "
                "again instead."
            ),
            code="answer_complete",
        )
    await require_writer(get_engine())
    return await run_begin(partial(_answer_take_up, user=user, message=message))


def _answer_take_up(*, user: User, message: Message) -> Run:
    """The row is leased to a new run; one that was silent and comes back can't write into it any more."""
    sources = tuple(source_value(row) for row in message.sources.all())
    has_begun = bool(message.text.strip()) and bool(sources)
    # What goes on searches nothing: its collections may be gone by now.
    scope = SearchScope(()) if has_begun else request_scope(user=user, request=message.request)
    budget_check(user)
    lease = answer_lease(message.pk)
    try:
        with transaction.atomic():
            lock_asking(user)
            check_limits(user)
            fields: dict[str, Any] = {
                "status": Message.Status.STREAMING,
                "finished_at": None,
                **lease.columns(),
            }
            if not has_begun:
                fields["text"] = ""
            open_answer = Message.objects.filter(pk=message.pk, status__in=INCOMPLETE)
            if not open_answer.update(**fields):
                raise AnswerInProgressError
            show(message)
    except IntegrityError as error:  # one_answer_at_once_per_session
        raise AnswerInProgressError from error
    message.lease_token = lease.token
    question = question_of(message, user=user, scope=scope)
    begun = PartialAnswer(question=question, text=message.text, sources=sources)
    if not has_begun:
        return Run(message, question, again=True)
    return Run(message, question, again=True, begun=begun, steps=steps_stored(message))


@transaction.atomic
def message_show(*, user: User, message_id: UUID) -> Message:
    """Make this version of a question or an answer the one that the conversation goes on from.

    Raises MessageNotFoundError, AnswerInProgressError.
    """
    message = selectors.message_get(user=user, message_id=message_id)
    Session.objects.select_for_update().get(pk=message.session_id)
    answers_mark_interrupted(session=message.session_id)
    if Message.objects.filter(session=message.session_id, status=Message.Status.STREAMING).exists():
        raise AnswerInProgressError
    show(message)
    return selectors.message_get(user=user, message_id=message_id)
