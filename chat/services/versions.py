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
from chat.errors import AnswerCompleteError, AnswerInProgressError
from chat.messages.data import source_value
from chat.models import Message, Session
from chat.runs.answers import answer_lease, answers_mark_interrupted
from chat.runs.run import Assignment, Beginning
from chat.services.ask import (
    ask,
    asked_before,
    check_limits,
    lock_asking,
    question_to_answer,
    run_begin,
    scope_asked,
    show,
)
from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded
from retrieval.engine import get_engine
from retrieval.values import SearchScope
from retrieval.workflows.workflow import require_writer

INCOMPLETE = (Message.Status.CUT, Message.Status.STOPPED, Message.Status.INTERRUPTED)


async def message_regenerate(*, user: User, message_id: UUID, changes: Mapping[str, Any]) -> Assignment:
    """Answer its question again, as it was asked but for `changes` (fields of `Ask`); the old answer is superseded.

    Raises MessageNotFoundError, AnswerInProgressError, and what `ask` raises.
    """
    message = await sync_to_async(selectors.message_get)(user=user, message_id=message_id)
    if message.role != Message.Role.ASSISTANT:
        raise InvalidInputError(worded("Only an answer can be written anew; give the answer's id, not the question's."))
    if message.status == Message.Status.STREAMING:
        raise AnswerInProgressError
    question = await sync_to_async(asked_before)(user=user, answer=message, changes=changes)
    return await ask(user=user, question=question, regenerated=message)


async def message_edit(*, user: User, message_id: UUID, text: str, changes: Mapping[str, Any]) -> Assignment:
    """Ask a question in other words, as it was asked else but for `changes`: a branch of the conversation.

    The question as it was stays, with its answers and all that follows them. An answer's id means the question that it
    replies to: who asks over HTTP is told that id alone. Raises MessageNotFoundError, InvalidInputError,
    AnswerInProgressError, and what `ask` raises.
    """

    def question_of(message: Message) -> Message:
        return message.reply_to if message.role == Message.Role.ASSISTANT and message.reply_to else message

    def reworded() -> Any:
        answer = selectors.shown_answer(message)
        changed = {**changes, "text": text}
        if answer is None:
            raise InvalidInputError(worded("This question was never answered; ask it anew."))
        return asked_before(user=user, answer=answer, changes=changed)

    named = await sync_to_async(selectors.message_get)(user=user, message_id=message_id)
    message = await sync_to_async(question_of)(named)
    if message.role != Message.Role.USER:
        raise InvalidInputError(worded("Only a question can be edited; give the question's id, not the answer's."))
    question = await sync_to_async(reworded)()
    return await ask(user=user, question=question, edited=message)


async def message_continue(*, user: User, message_id: UUID) -> Assignment:
    """Go on with an answer that was cut, stopped or interrupted, in the same message and from the same sources.

    Where nothing of it was written yet, it is written from its beginning. Raises MessageNotFoundError,
    InvalidInputError, AnswerInProgressError, AnswerCompleteError, TooManyAnswersError, TooManyQuestionsError,
    UnavailableError where no model can be used.
    """
    message = await sync_to_async(selectors.message_get)(user=user, message_id=message_id)
    _check_open(message)
    await require_writer(get_engine())
    return await run_begin(partial(_answer_take_up, user=user, message=message))


def _check_open(message: Message) -> None:
    if message.role != Message.Role.ASSISTANT:
        raise InvalidInputError(worded("Only an answer can be continued; give the answer's id, not the question's."))
    if message.status == Message.Status.STREAMING:
        raise AnswerInProgressError
    if message.status not in INCOMPLETE:
        raise AnswerCompleteError


def _answer_take_up(*, user: User, message: Message) -> Assignment:
    """The row is leased to a new run; one that was silent and comes back can't write into it any more."""
    sources = tuple(source_value(row) for row in message.sources.all())
    has_begun = bool(message.text.strip()) and bool(sources)
    # What goes on searches nothing: its collections may be gone by now.
    question = asked_before(user=user, answer=message, changes={"collections": ()} if has_begun else {})
    scope = SearchScope(()) if has_begun else scope_asked(user=user, ask=question)
    answers_mark_interrupted(session__user=user)
    lease = answer_lease(message.pk)
    asked = message.reply_to
    assert asked is not None
    try:
        with transaction.atomic():
            lock_asking(user)
            check_limits(user)
            fields: dict[str, Any] = {"status": Message.Status.STREAMING, "finished_at": None, **lease.columns()}
            if not has_begun:
                fields["text"] = ""
            open_answer = Message.objects.filter(pk=message.pk, status__in=INCOMPLETE)
            if not open_answer.update(**fields):
                raise AnswerInProgressError
            show(message)
    except IntegrityError as error:  # one_answer_at_once_per_session
        raise AnswerInProgressError from error
    return Assignment(
        message_id=message.pk,
        run_id=lease.token,
        session_id=message.session_id,
        user_message_id=asked.pk,
        workflow=message.workflow,
        question=question_to_answer(user=user, ask=question, asked=asked, scope=scope, answer_id=message.pk),
        again=True,
        beginning=Beginning(
            text=message.text,
            sources=sources,
            decision=message.decision or Message.Decision.ANSWER,
            reason=message.reason,
            model=message.model,
            usage=message.usage,
            degraded=message.degraded,
        )
        if has_begun
        else None,
    )


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
