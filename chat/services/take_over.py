"""Answers whose web process has died, or had to end before them, are continued by another one.

It needs the shared log: what readers were shown is read there, and they get what follows without noticing. Where the
log is lost, or no model can go on, the answer ends as `interrupted`.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db import Error as DatabaseError
from django.utils import timezone

from chat.models import Message
from chat.runs.answers import steps_stored
from chat.runs.draining import RestartingError, is_draining
from chat.runs.event_log import EventLogGoneError, get_event_log
from chat.runs.following import end_of
from chat.runs.left_answers import (
    answer_declare_left,
    answer_give_back,
    answer_leave,
    answer_shown,
    answer_take,
    answer_was_begun,
    answers_being_written,
)
from chat.runs.recorded import Recorded, recorded
from chat.runs.run import Run
from chat.runs.running import run_find
from chat.runs.stopping import is_listened_for
from chat.services.asked_request import question_of, request_scope, with_attachments
from chat.services.beginning import run_begin
from ragsite.core import metrics
from ragsite.core.database import database_call
from ragsite.core.errors import AppError
from retrieval.compose import get_engine
from retrieval.engine.steps.answer.continuation import PartialAnswer
from retrieval.engine.values import AnswerSource, SearchScope
from retrieval.engine.workflows.base import require_writer

logger = logging.getLogger(__name__)
LOOK_EVERY_S = 1.0  # a run shows a sign of life more often
NOTHING = Recorded(seq=0, text="")


async def answers_take_over() -> None:
    """Look for answers that were left, for ever."""
    seen: dict[UUID, datetime] = {}
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        if is_draining():
            return
        try:
            written = await database_call(answers_being_written)
        except DatabaseError as error:
            logger.warning("answers that were left could not be looked for: %s", error)
            continue
        theirs = {pk: until for pk, until in written.items() if run_find(pk) is None}
        for message_id, until in theirs.items():
            if seen.get(message_id) == until:  # no sign of life since the last look
                try:
                    if await _is_left(message_id, until):
                        await answer_take_over(message_id)
                except Exception:  # the others are taken over all the same
                    logger.exception("message %s could not be taken over", message_id)
        seen = theirs


async def _is_left(message_id: UUID, until: datetime) -> bool:
    """Its process has gone; or its lease ran out a look ago: a run whose database was away for a while comes back
    first."""
    if until <= timezone.now() - timedelta(seconds=LOOK_EVERY_S):
        return True
    try:
        if until <= timezone.now() or await is_listened_for(message_id):
            return False
    except EventLogGoneError:
        return False
    return await database_call(answer_declare_left, message_id=message_id, lease_expires_at=until)


async def answer_take_over(message_id: UUID) -> Run | None:
    """Continue it. None: it has ended, another process continues it, or none can."""
    try:
        shown = recorded(await get_event_log().whole(str(message_id)))
    except EventLogGoneError:  # Redis is away: it is looked at again
        return None
    if shown is None and not await database_call(answer_was_begun, message_id):
        shown = NOTHING  # its process died, or stalls, before its first event
    if shown is None or shown.ended:
        await _leave(message_id, shown)
        return None
    if shown.text:
        try:
            await require_writer(get_engine())
        except AppError as error:
            logger.warning("message %s was left and can't go on: %s", message_id, error)
            await _leave(message_id, shown)
            return None
    if is_draining():  # it has begun meanwhile: the answer is for a process that stays
        return None
    taken = await database_call(answer_take, message_id=message_id, shown=shown)
    if taken is None:
        await _tell_end(message_id, shown)
        return None
    token, sources = taken
    try:
        shown, sources = await _all_shown(message_id, token, shown, sources)
        run = await run_begin(lambda: _run_of(message_id, token, shown, sources))
    except _NotTakenError:
        await _tell_end(message_id, shown, writer=str(token))
        return None
    except (EventLogGoneError, RestartingError):
        await database_call(answer_give_back, message_id=message_id, token=token)
        return None
    metrics.taken_over.inc()
    logger.info("message %s was left by its process and goes on here", message_id)
    return run


async def _all_shown(
    message_id: UUID, token: UUID, shown: Recorded, sources: tuple[AnswerSource, ...]
) -> tuple[Recorded, tuple[AnswerSource, ...]]:
    """With what the former run sent until its log was claimed: it may only have been slow. Raises EventLogGoneError,
    and _NotTakenError where somebody else has the answer by now."""
    log = get_event_log()
    await log.claim(str(message_id), writer=str(token))
    whole = recorded(await log.whole(str(message_id)))
    if whole is None:
        if shown is NOTHING:
            return shown, sources
        raise EventLogGoneError(message_id)
    if whole.seq == shown.seq:
        return shown, sources
    stored = await database_call(answer_shown, message_id=message_id, token=token, shown=whole)
    if stored is None:
        raise _NotTakenError
    return whole, stored


async def _leave(message_id: UUID, shown: Recorded | None) -> None:
    await database_call(answer_leave, message_id=message_id, shown=shown)
    if shown and not shown.ended:
        await _tell_end(message_id, shown)


async def _tell_end(message_id: UUID, shown: Recorded, *, writer: str = "") -> None:
    """To readers, who wait for the log; nothing while the answer is written elsewhere. writer: who has claimed it."""
    for event in await database_call(end_of, message_id, shown.seq):
        await get_event_log().append(str(message_id), event, writer=writer)


class _NotTakenError(Exception):
    pass


def _run_of(
    message_id: UUID, token: UUID, shown: Recorded, sources: tuple[AnswerSource, ...]
) -> Run:
    """Raises _NotTakenError."""
    message = Message.objects.select_related("session__user", "session__key", "reply_to").get(
        pk=message_id
    )
    user = message.session.user
    user.api_key = message.session.key  # type: ignore[attr-defined]  # it sees what the key sees, and no more
    has_begun = bool(shown.text.strip()) and bool(sources)
    scope = SearchScope(())
    unread = list[UUID]()
    if not has_begun:
        try:
            scope = request_scope(user=user, request=message.request)
        except AppError as error:  # its collections have gone since
            logger.warning("message %s was left and can't be written again: %s", message_id, error)
            answer_leave(message_id=message_id, shown=shown, token=token)
            raise _NotTakenError from error
        scope, unread = with_attachments(scope, user=user, conversation_id=message.session_id)
    question = question_of(message, user=user, scope=scope)
    begun = (
        PartialAnswer(question=question, text=shown.text, sources=sources) if has_begun else None
    )
    return Run(
        message, question, unread=unread, begun=begun, steps=steps_stored(message), joins=shown
    )
