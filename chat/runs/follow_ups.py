"""Follow-ups: questions below an answer that would be answered if somebody asked them.

    answer, done ─► passages that were found beside what it cites ─► the fast model: what could be asked of them?
                 ─► without what was asked ─► each is tried: searched for and begun to be written ─► kept, or dropped

All of it happens in pauses (`chat.runs.pauses`), after the answer's last event. Open tabs of the conversation get
an event of its own; the message keeps them. Without a model there are none.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from channels.layers import get_channel_layer
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from redis.exceptions import RedisError

from chat.models import AnswerReview, Message
from chat.runs.announcing import session_group
from chat.runs.answering import engine_for
from chat.runs.budgets import site_budget_check
from chat.runs.measuring import count_calls
from chat.runs.pauses import begin_in_pauses, in_pause
from chat.runs.spending import tokens_count
from ragsite.core import metrics
from ragsite.core.database import database_call
from ragsite.core.errors import AppError
from ragsite.core.text import clean_text
from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelError
from retrieval.engine.steps.offer.candidates import next_questions
from retrieval.engine.steps.offer.trial import Trial, try_question
from retrieval.engine.text.quoting import HISTORY_MESSAGES
from retrieval.engine.trace import Trace
from retrieval.engine.values import Answer, HistoryMessage, Question, StoredChunk
from retrieval.engine.workflows.base import has_documents, language_of

KIND = "follow_up"
MOST = 3  # below one answer
WITHIN_S = 60.0  # of the answer's end; later the reader has gone on
logger = logging.getLogger(__name__)


def follow_ups_begin(message: Message, question: Question, answer: Answer) -> None:
    """Look for them as soon as there is a pause; on the event loop. `answer`: as it was stored, complete."""
    passages = [
        source.chunk
        for source in answer.sources
        if not source.cited and source.chunk.kind == "document"
    ]
    if not passages or not _is_enabled(message, question, answer):
        return

    async def work() -> None:
        await _make(message, question, answer, passages)

    if not begin_in_pauses(work, within_s=WITHIN_S, name=str(message.session_id)):
        metrics.offered_dropped.labels(KIND, "busy").inc()


def _is_enabled(message: Message, question: Question, answer: Answer) -> bool:
    """By who would see them: whoever asks on the page, and goes on with the same scope. Of what is not to be kept the
    model is not told again."""
    request = message.request
    session = message.session
    is_on_the_page = session.kept and session.key_id is None and "history" not in request
    is_about_all = not question.task and "documents" not in request and has_documents(question)
    is_answered = answer.decision == "ANSWER" and bool(answer.model) and answer.support != "none"
    return settings.RAG.answer.follow_ups and is_on_the_page and is_about_all and is_answered


async def _make(
    message: Message, question: Question, answer: Answer, passages: Sequence[StoredChunk]
) -> None:
    said = (HistoryMessage("user", question.text), HistoryMessage("assistant", answer.text))
    following = replace(
        question,
        history=(*question.history, *said)[-HISTORY_MESSAGES:],
        condensed="",
        open_clarification=None,
        again=False,
        user_id="",
        answer_id="",
    )
    trace = Trace()
    deps = (await engine_for(question)).for_answer(
        trace,
        timeout_s=WITHIN_S,
        language=language_of(question),
        asker_id=question.asker_id,
        instructions=question.instructions,
    )
    try:
        await database_call(site_budget_check)
        offered = await _tried(deps, message, following, passages)
    except _AnswerGoneError:
        metrics.offered_dropped.labels(KIND, "gone").inc()
        return
    except (ModelError, AppError) as error:
        logger.info("message %s has no follow-ups: %s", message.pk, error)
        metrics.offered_dropped.labels(KIND, "failed").inc()
        return
    finally:
        count_calls(trace)
        await database_call(tokens_count, trace.calls, user_id=None)
    if not offered:
        return
    is_stored = await database_call(_store, message, offered)
    if is_stored:
        metrics.offered.labels(KIND).inc(len(offered))
        await _announce(message, offered)


async def _tried(
    deps: Deps, message: Message, following: Question, passages: Sequence[StoredChunk]
) -> list[str]:
    """Those of the model's questions that are answered. Raises _AnswerGoneError, ModelError, AppError."""

    async def candidates() -> list[str]:
        await _require_current(message)
        async with deps.trace.step("generate"):
            return await next_questions(
                deps, passages, about=following.text, history=following.history
            )

    async def trial_of(text: str) -> Trial:
        await _require_current(message)
        return await try_question(deps, replace(following, text=text))

    offered: list[str] = []
    for text in await in_pause(candidates):
        trial = await in_pause(partial(trial_of, text))
        if trial.outcome == "answered":
            offered.append(clean_text(text))
        else:
            metrics.offered_dropped.labels(KIND, trial.outcome).inc()
        if len(offered) == MOST:
            break
    return offered


class _AnswerGoneError(Exception):
    """Nobody is shown the answer as the last one any more."""


async def _require_current(message: Message) -> None:
    """Raises _AnswerGoneError."""
    if not await database_call(_shown(message).exists):
        raise _AnswerGoneError


def _shown(message: Message) -> QuerySet[Message]:
    """The answer, as long as it stands at the end of a conversation that is kept."""
    asked_on = Message.objects.filter(follows=OuterRef("reply_to"))
    return Message.objects.filter(
        ~Exists(asked_on),
        pk=message.pk,
        status=Message.Status.COMPLETE,
        superseded=False,
        reply_to__superseded=False,
        session__kept=True,
    )


def _store(message: Message, offered: list[str]) -> bool:
    """False: the answer has gone meanwhile."""
    if not _shown(message).update(follow_ups=offered):
        return False
    AnswerReview.objects.filter(message=message.pk).update(follow_ups=len(offered))
    return True


async def _announce(message: Message, offered: list[str]) -> None:
    """To the open tabs of the conversation. Where Redis is away they see them when they load it again."""
    event = {"type": "follow_ups.made", "message_id": str(message.pk), "follow_ups": offered}
    try:
        await get_channel_layer().group_send(session_group(message.session_id), event)
    except (RedisError, OSError) as error:
        logger.warning("open tabs do not know follow-ups of message %s: %s", message.pk, error)
