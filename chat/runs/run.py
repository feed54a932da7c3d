"""Runs: each answer that is being written, as a task of the server.

A run belongs to no request and no socket: whoever asked may go away. It writes its events to the log and its text to
the database, and it always ends its message, with exactly one `done` or `error`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import Error as DatabaseError
from django.utils import translation

from chat import selectors
from chat.messages.data import answer_status, message_data
from chat.models import Message
from chat.runs.announcing import answer_announce
from chat.runs.answer_events import AnswerEvents
from chat.runs.answering import answer_question, engine_for
from chat.runs.answers import (
    EndStatus,
    RunOutcome,
    answer_finish,
    answer_hand_over,
    answer_keep,
    answer_save_partial,
)
from chat.runs.assistants import assistant_record
from chat.runs.attachments import attachments_await
from chat.runs.detached import cancelled, detach
from chat.runs.endings import DELETED, INTERNAL, TIMED_OUT, ending, error_event, failure_of
from chat.runs.event_log import Event
from chat.runs.follow_ups import follow_ups_begin
from chat.runs.measuring import count_answer
from chat.runs.pauses import give_up
from chat.runs.recorded import Recorded
from chat.runs.running import run_entered, run_left
from chat.runs.spending import tokens_count_without_answer
from chat.runs.stopping import stop_asked
from ragsite.core import metrics
from ragsite.core.database import database_call, is_database_away
from ragsite.core.errors import AppError
from ragsite.core.log_ids import current_message
from retrieval.engine.steps.answer.continuation import PartialAnswer
from retrieval.engine.steps.grounding.claims import brackets_of
from retrieval.engine.trace import Trace
from retrieval.engine.values import Answer, Question
from retrieval.engine.workflows.base import continue_answer
from retrieval.memory.services import answer_memories_forget

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
End = Literal["stopped", "interrupted", "timeout", "refused", "handed_over"]

SAVE_EVERY_S = 0.6  # an answer being written is stored this often: a kill costs a second at most
CANCEL_GRACE_S = 2.0  # a workflow that ignores its cancellation for this long is left behind
LATE_S = 3.0  # a run that begins so long after its rows were stored may have lost its answer to another process
STORE_AGAIN_S = 0.4  # between attempts to store an answer while the database is away


class Run:
    """One answer being written: `question` is answered into the stored `message`. `end` stops it early.

    unread: attached files that were not read when it was asked. again: an earlier run has written into the message;
    begun: what is kept of that. steps: how many its path has already. joins: the log, claimed by the
    message's token, goes on behind what an earlier run has shown.

    A new question is worked on while its rows are stored (`work_early`): nothing is sent or stored of its answer before
    `start`, and `give_up` is for a question that could not be stored.
    """

    def __init__(
        self,
        message: Message,
        question: Question,
        *,
        unread: Sequence[UUID] = (),
        again: bool = False,
        begun: PartialAnswer | None = None,
        steps: int = 0,
        joins: Recorded | None = None,
    ) -> None:
        self.message = message
        self.question = question
        self.again = again
        self.events = AnswerEvents(message.pk)
        self.trace = Trace(self.events, after=steps, private=not message.session.kept)
        self.task: asyncio.Task[None] | None = None
        self._unread = unread
        self._begun = begun
        self._joins = joins
        self._work: asyncio.Task[Answer] | None = None
        self._token: Any = message.lease_token  # the right to write the message
        self._end: End | None = None
        self._ending = asyncio.Event()
        self._complete: Answer | None = None  # as it was stored
        self._made_at = time.monotonic()

    def work_early(self) -> None:
        """Begin to look for the answer; on the event loop."""
        self._work = detach(self._written())

    def give_up(self) -> None:
        """The question was refused after all."""
        self.events.close()
        if self._work:
            self._work.cancel()
            self._work.add_done_callback(_log_failure)

    async def start(self) -> None:
        """Begin to answer. On return the log is there to be read, and the open tabs of the conversation know of it.

        Where this process stalled before, and another one has the answer by now, nothing is begun.
        """
        message = self.message
        if await self._was_lost():
            logger.warning("message %s is answered by another process", message.pk)
            self.give_up()
            return
        give_up(str(message.session_id))  # what is looked for below the answer before
        run_entered(self)
        metrics.running.inc()

        async def to_its_end() -> None:
            self._speak()
            try:
                await self._drive()
            except Exception:
                logger.exception("run of message %s broke", message.pk)
                await self._break_off()
            else:
                if self._complete:
                    follow_ups_begin(message, self.question, self._complete)
            finally:
                run_left(message.pk)
                metrics.running.dec()

        if self._joins:
            sources = self._begun.sources if self._begun else ()
            self.events.join(self._joins, sources, writer=str(self._token))
        if self._joins and self._joins.seq:
            if self._joins.text and not self._begun:  # nothing to go on from: it is written again
                await self.events.withdrawn()
            self.task = detach(to_its_end())
            return
        await self.events.start(
            {
                "type": "started",
                "session_id": str(message.session_id),
                "workflow": message.workflow,
                "user_message_id": str(message.reply_to_id),
            }
        )
        if self._begun:
            await self.events.begin(self._begun)
        self.task = detach(to_its_end())
        await answer_announce(message, again=self.again)

    async def _was_lost(self) -> bool:
        """While this process stalled: what was made just now is its own, which costs no look."""
        is_late = time.monotonic() - self._made_at > LATE_S
        keep = partial(answer_keep, message_id=self.message.pk, run_id=self._token)
        return is_late and not await database_call(keep)

    @property
    def _user_id(self) -> int | None:
        """Whose tokens are used."""
        return int(self.question.asker_id) if self.question.asker_id else None

    def end(self, how: End) -> None:
        """Cancel the workflow and the model's connection. The text so far is kept; only the first call counts."""
        if self._end is None:
            self._end = how
            self._ending.set()

    async def _drive(self) -> None:
        """Answer, and end the message whatever happens. Not to be cancelled: `end` is the way to stop it."""
        beside = [asyncio.create_task(self._keep_saving())]
        if settings.REDIS_URL:
            beside.append(asyncio.create_task(self._listen_for_stop()))
        try:
            outcome = await self._answer()
        finally:
            # The final write waits for the last partial one, so that it can't be overwritten.
            await cancelled(beside)
        if self._end == "handed_over" and outcome.status == "interrupted":
            await self._hand_over()
        else:
            await self._finish(outcome)

    async def _answer(self) -> RunOutcome:
        """Run the workflow to its end, to its time limit, or to the call of `end`."""
        work = self._work or asyncio.create_task(self._write())
        ending = asyncio.create_task(self._ending.wait())
        await asyncio.wait(
            {work, ending},
            timeout=settings.RAG.limits.answer_timeout_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
        ending.cancel()
        if not work.done():
            self.end("timeout")
            work.cancel()
            await asyncio.wait({work}, timeout=CANCEL_GRACE_S)
        self.events.close()
        if not work.done() or work.cancelled():
            if self._end == "timeout":
                return self._broken_off("failed", TIMED_OUT)
            return self._broken_off("stopped" if self._end == "stopped" else "interrupted")
        if error := work.exception():
            return self._broken_off("failed", failure_of(error, f"message {self.message.pk}"))
        answer = work.result()
        if not await self.events.complete(answer):
            logger.warning(
                "message %s: the answer differs from its chunks, which stand", self.message.pk
            )
        return self._outcome(answer_status(answer), answer)

    def _speak(self) -> None:
        """The site's own sentences in the language of the asker's pages, and the answer's id in the log, for the
        running task."""
        current_message.set(str(self.message.pk))
        translation.activate(self.question.language or settings.LANGUAGE_CODE)

    async def _written(self) -> Answer:
        self._speak()
        return await self._write()

    async def _write(self) -> Answer:
        if self.question.assistant and not self._begun:
            await assistant_record(self.question, self.question.assistant, trace=self.trace)
        if self._begun:
            return await continue_answer(
                self._begun, engine=await engine_for(self.question), trace=self.trace
            )
        if self._unread:
            self.question = await attachments_await(
                self.question, unread=self._unread, trace=self.trace
            )
        return await answer_question(
            self.question, workflow=self.message.workflow, trace=self.trace
        )

    def _broken_off(self, status: EndStatus, failure: AppError | None = None) -> RunOutcome:
        """With the sources that were sent; cited are those that the text so far cites."""
        cited = brackets_of(self.events.sources).cited(self.events.text)
        sources = tuple(
            replace(source, cited=source.marker in cited) for source in self.events.sources
        )
        answer = Answer(decision="ANSWER", text=self.events.text, sources=sources)
        if self._begun:  # what was there stays an answer, whatever becomes of its rest
            stored: Any = self.message
            answer = replace(answer, decision=stored.decision or "ANSWER", model=stored.model)
            if failure:
                outcome = self._outcome("interrupted", answer)
                reason = {"step": "generate", "reason": failure.message}
                return replace(outcome, degraded=[reason, *outcome.degraded])
        return self._outcome(status, answer, failure)

    def _outcome(
        self, status: EndStatus, answer: Answer, failure: AppError | None = None
    ) -> RunOutcome:
        return RunOutcome(
            status=status,
            answer=replace(answer, text=self.events.text),
            steps=tuple(self.trace.steps),
            usage=self.trace.usage().as_dict(),
            degraded=self.trace.degraded,
            failure=failure,
            again=self.again,
            continued=self._begun is not None,
            searched_for=self.trace.searched_for or "",
            calls=tuple(self.trace.calls),
            user_id=self._user_id,
        )

    async def _hand_over(self) -> None:
        """Another process goes on behind the last event."""
        await self.events.emit()
        await self._stored(
            lambda: answer_hand_over(
                message_id=self.message.pk,
                run_id=self._token,
                text=self.events.text,
                sources=self.events.sources,
            )
        )
        # The other process knows only what it asks itself.
        await self._stored(
            lambda: tokens_count_without_answer(self.trace.calls, user_id=self._user_id)
        )

    async def _finish(self, outcome: RunOutcome) -> None:
        """Store the answer, then send its last events, made from what is stored."""
        message_id = self.message.pk

        def store_and_read() -> list[Event] | None:
            if not answer_finish(message_id=message_id, run_id=self._token, outcome=outcome):
                # Asked again, by a run that ends it for its readers; stopped in this one's absence; or deleted.
                logger.warning("message %s was ended elsewhere, which stands", message_id)
            stored = selectors.message_find(message_id)
            if stored is None:
                return None
            return [] if stored.status == Message.Status.STREAMING else ending(message_data(stored))

        events = await self._stored(store_and_read)
        count_answer(
            workflow=self.message.workflow,
            status=outcome.status,
            decision=outcome.answer.decision if outcome.answer.text else "",
            support=outcome.answer.support or "",
            trace=self.trace,
            offered=self.message.request.get("offered", ""),
        )
        if events is None:
            # Memories that the workflow wrote after the deletion had removed the others.
            await self._stored(lambda: answer_memories_forget(answer_id=message_id))
            events = [error_event(DELETED)]
        for event in events:
            await self.events.emit(event)
        self._complete = outcome.answer if outcome.status == "complete" else None

    async def _stored(self, call: Callable[[], Result]) -> Result:
        """As soon as the database takes it: the text is kept here until then. Raises what waiting can't mend."""
        warned = False
        while True:
            try:
                return await database_call(call)
            except DatabaseError as error:
                if not is_database_away(error):
                    raise
                if not warned:
                    logger.warning("message %s waits for the database: %s", self.message.pk, error)
                    warned = True
            await asyncio.sleep(STORE_AGAIN_S)

    async def _break_off(self) -> None:
        """The ending itself went wrong: store the text without what may have been the reason, and end the stream."""
        message_id = self.message.pk
        answer = Answer(decision="ANSWER", text=self.events.text)
        outcome = RunOutcome(
            status="failed",
            answer=answer,
            failure=INTERNAL,
            calls=tuple(self.trace.calls),
            user_id=self._user_id,
        )
        if self._begun:
            outcome = self._broken_off("interrupted")
        try:
            await database_call(
                answer_finish, message_id=message_id, run_id=self._token, outcome=outcome
            )
        except DatabaseError as error:
            logger.error("the text of message %s is not stored: %s", message_id, error)
        await self.events.emit(error_event(INTERNAL))

    async def _keep_saving(self) -> None:
        """Text and sign of life."""
        message_id = self.message.pk
        failing = False
        stored = self._begun.sources if self._begun else ()
        while True:
            await asyncio.sleep(SAVE_EVERY_S)
            chosen = self.events.sources
            try:
                saved = await database_call(
                    answer_save_partial,
                    message_id=message_id,
                    run_id=self._token,
                    text=self.events.text,
                    sources=() if chosen == stored else chosen,
                )
            except DatabaseError as error:
                if not failing:
                    logger.warning("message %s: partial text not saved: %s", message_id, error)
                failing = True
                continue
            failing = False
            stored = chosen
            if not saved:
                self.end("refused")
                return

    async def _listen_for_stop(self) -> None:
        await stop_asked(self.message.pk)
        self.end("stopped")


def _log_failure(work: asyncio.Task[Any]) -> None:
    if not work.cancelled() and (error := work.exception()):
        logger.info("a question that was refused had failed, too: %r", error)
