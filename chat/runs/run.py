"""Runs: each answer that is being written, as a task of the server.

A run belongs to no request and no socket: whoever asked may go away. It writes its events to the log and its text to
the database, and it always ends its message, with exactly one `done` or `error`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer
from django.conf import settings
from django.db import Error as DatabaseError
from django.utils import translation
from opentelemetry.context import attach, get_current
from redis.exceptions import RedisError

from chat import selectors
from chat.messages.data import answer_status, message_data, source_data
from chat.models import Message
from chat.runs.answers import EndStatus, Outcome, answer_finish, answer_hand_over, answer_save_partial
from chat.runs.attachments import attachments_await
from chat.runs.event_log import Event, get_event_log
from chat.runs.measuring import count_answer
from chat.runs.recorded import Recorded
from chat.runs.stopping import stop_asked
from ragsite.core import metrics
from ragsite.core.database import DatabaseAwayError, database_call, is_database_away, own_database_thread
from ragsite.core.errors import AppError, NotFoundError, UnavailableError
from ragsite.core.localized import localized
from ragsite.core.log_ids import current_message, current_request
from ragsite.core.messages import worded
from ragsite.core.text import clean_json, clean_text
from retrieval.compose import get_engine
from retrieval.engine.deps import Deps
from retrieval.engine.errors import ModelError
from retrieval.engine.providers.registry import ChosenModel
from retrieval.engine.steps.answer.continuation import Begun
from retrieval.engine.steps.grounding.claims import brackets_of
from retrieval.engine.trace import TRACER, EventSink, StepRecord, Trace
from retrieval.engine.values import Answer, Question, Source
from retrieval.engine.workflows.base import continue_answer
from retrieval.engine.workflows.registry import get_workflow
from retrieval.memory.services import answer_memories_forget

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
End = Literal["stopped", "interrupted", "timeout", "refused", "handed_over"]

CHUNK_EVERY_S = 0.04  # what is written meanwhile is one chunk: nobody reads finer, and each event has its price
SAVE_EVERY_S = 0.6  # an answer being written is stored this often: a kill costs its last second at most
CANCEL_GRACE_S = 2.0  # a workflow that does not react to its cancellation for this long is left behind
SHUT_DOWN_S = 4.0  # what all runs of a process that stops have together, the storing of their answers included
STORE_AGAIN_S = 0.4  # between attempts to store an answer while the database is away
DELETED = NotFoundError(worded("This conversation was deleted."))
INTERNAL = AppError(
    worded("Something went wrong while answering; it has been logged. Try again."), code="internal", status=500
)
TIMED_OUT = UnavailableError(
    worded("The answer took too long and was stopped. Try again."), code="timeout", retry_after_s=30
)
MODEL_AWAY = UnavailableError(worded("The model did not answer; try again shortly."), code="model_unavailable")


async def answer_question(question: Question, *, workflow: str, trace: Trace) -> Answer:
    """Run the named workflow on the running loop's engine. Raises AppError where no fallback could serve."""
    with TRACER.start_as_current_span("run", attributes={"ragsite.workflow": workflow}, record_exception=False):
        return await get_workflow(workflow).answer(question, engine=await _engine(question), trace=trace)


async def _engine(question: Question) -> Deps:
    """The engine, with the model that the question chose. One that has gone since is the site's again."""
    engine = get_engine()
    if not question.model or question.model not in (await engine.models.status()).chat_models:
        return engine
    return replace(engine, models=ChosenModel(engine.models, question.model))


class AnswerEvents(EventSink):
    """The events of one answer: numbered from 1, in order, written to the log as they happen. Its only writer.

    It is the `EventSink` of the answer's workflow until it is closed. The site's own sentences are in the language that
    is active in the run, which is that of the asker's pages. `text` is what has been written so far, `sources`
    what was sent before the first chunk. The first piece of text is sent at once; what is written within CHUNK_EVERY_S
    of a chunk is the next one, and goes out before any other event. Until the answer has begun, events are kept.
    """

    def __init__(self, message_id: UUID) -> None:
        self.message_id = str(message_id)
        self.sources: tuple[Source, ...] = ()
        self.text = ""
        self._sent_chars = 0
        self._pause: asyncio.Task[None] | None = None
        self._sources_sent = False
        self._closed = False
        self._seq = 0
        self._early: list[Event] | None = []  # None: the answer has begun
        self._order = asyncio.Lock()  # steps run side by side

    async def start(self, started: Event) -> None:
        """Write the first event, and behind it what the workflow has sent already."""
        async with self._order:
            early = self._early or []
            self._early = None
            for event in (started, *early):
                await self._write(event)

    async def emit(self, event: Event | None = None) -> None:
        """Write the text that was not sent yet, then this event; it gets its `seq` and `message_id` here."""
        async with self._order:
            if content := self.text[self._sent_chars :]:
                self._sent_chars = len(self.text)
                await self._write({"type": "chunk", "content": content})
            if event:
                await self._write(event)

    async def _write(self, event: Event) -> None:
        if self._early is not None:
            self._early.append(event)
            return
        self._seq += 1
        numbered = {"type": event["type"], "seq": self._seq, "message_id": self.message_id}
        await get_event_log().append(self.message_id, numbered | event)

    def join(self, shown: Recorded, sources: Sequence[Source]) -> None:
        """Go on with a log that a run began which died; its readers notice nothing."""
        self._early = None
        self._seq = shown.seq
        self.text = shown.text
        self._sent_chars = len(shown.text)
        self.sources = tuple(sources)
        self._sources_sent = bool(shown.sources)

    async def begin(self, begun: Begun) -> None:
        """Send what is there already: the chunks put together are the answer, whenever a reader joined."""
        await self._send_sources(begun.sources)
        self.text = begun.text
        await self.emit()

    def close(self) -> None:
        """From now on drop what the workflow sends: it may have been left behind."""
        self._closed = True
        if self._pause:
            self._pause.cancel()

    async def step_finished(self, step: StepRecord) -> None:
        if not self._closed:
            entry = clean_json(localized(step.as_dict()))
            content = entry["summary"] or entry["name"].replace("_", " ")
            await self.emit({"type": "reasoning", "content": content, "step": entry})

    async def tool_called(self, tool: str, content: str, step: StepRecord) -> None:
        if not self._closed:
            entry = clean_json(localized(step.as_dict()))
            content = clean_text(localized(content))
            await self.emit({"type": "tool_call", "content": content, "tool": tool, "step": entry})

    async def sources_chosen(self, sources: Sequence[Source]) -> None:
        if not self._closed:
            await self._send_sources(sources)

    async def chunk(self, content: str) -> None:
        if self._closed or not (content := clean_text(content)):
            return
        if not self._sources_sent:
            await self._send_sources(())
        self.text += content
        if self._pause is None:
            await self.emit()
            self._pause = asyncio.create_task(self._send_after_pause())

    async def withdrawn(self) -> None:
        if not self._closed:
            self.text = ""
            self._sent_chars = 0
            await self.emit({"type": "withdrawn"})

    async def _send_after_pause(self) -> None:
        await asyncio.sleep(CHUNK_EVERY_S)  # nowhere else is it cancelled
        self._pause = None
        await self.emit()

    async def complete(self, answer: Answer) -> bool:
        """Send what is missing of the whole answer. False: the chunks are not its beginning, and stand as they are."""
        text = clean_text(answer.text)
        if answer.sources and not self.text and _markers(answer.sources) != _markers(self.sources):
            await self._send_sources(answer.sources)
        if not text.startswith(self.text):
            return False
        if text and not self._sources_sent:
            await self._send_sources(())
        self.text = text
        await self.emit()
        return True

    async def _send_sources(self, sources: Sequence[Source]) -> None:
        """Readers get them before the text: a choice made after the first chunk shows in `done` alone."""
        if not self.text:
            self.sources = tuple(sources)
            self._sources_sent = True
            await self.emit({"type": "sources", "sources": [source_data(source) for source in sources]})


def _markers(sources: Sequence[Source]) -> list[int]:
    return [source.marker for source in sources]


class Run:
    """One answer being written: `question` is answered into the stored `message`. `end` stops it early.

    unread: attached files that were not read when it was asked. again: an earlier run has written into the message;
    begun: what is kept of that. steps: how many its path has already. joins: the log goes on behind what an earlier run
    has shown.

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
        begun: Begun | None = None,
        steps: int = 0,
        joins: Recorded | None = None,
    ) -> None:
        self.message = message
        self.question = question
        self.again = again
        self.events = AnswerEvents(message.pk)
        self.trace = Trace(self.events, after=steps)
        self.task: asyncio.Task[None] | None = None
        self._unread = unread
        self._begun = begun
        self._joins = joins
        self._work: asyncio.Task[Answer] | None = None
        self._token: Any = message.lease_token  # the right to write the message
        self._end: End | None = None
        self._ending = asyncio.Event()

    def work_early(self) -> None:
        """Begin to look for the answer; on the event loop."""
        self._work = detach(self._written())

    def give_up(self) -> None:
        """The question was refused after all."""
        self.events.close()
        if self._work:
            self._work.cancel()
            self._work.add_done_callback(_taken_note_of)

    async def start(self) -> None:
        """Begin to answer. On return the log is there to be read, and the open tabs of the conversation know of it."""
        message = self.message
        running = _running()
        running[message.pk] = self
        metrics.running.inc()

        async def to_its_end() -> None:
            self._speak()
            try:
                await self._drive()
            except Exception:
                logger.exception("run of message %s broke", message.pk)
                await self._break_off()
            finally:
                running.pop(message.pk, None)
                metrics.running.dec()

        if self._joins:
            self.events.join(self._joins, self._begun.sources if self._begun else ())
            if self._joins.text and not self._begun:  # nothing to go on from: it is written from its beginning
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
        announced = {"type": "run.started", "message_id": str(message.pk), "again": self.again}
        try:
            await get_channel_layer().group_send(session_group(message.session_id), announced)
        except (RedisError, OSError) as error:
            logger.warning("open tabs do not know of message %s: %s", message.pk, error)

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
            await _cancelled(beside)
        if self._end == "handed_over" and outcome.status == "interrupted":
            await self._hand_over()
        else:
            await self._finish(outcome)

    async def _answer(self) -> Outcome:
        """Run the workflow to its end, to its time limit, or to the call of `end`."""
        work = self._work or asyncio.create_task(self._write())
        ending = asyncio.create_task(self._ending.wait())
        await asyncio.wait(
            {work, ending}, timeout=settings.RAG.limits.answer_timeout_s, return_when=asyncio.FIRST_COMPLETED
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
            logger.warning("message %s: the answer differs from its chunks, which stand", self.message.pk)
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
        if self._begun:
            return await continue_answer(self._begun, engine=await _engine(self.question), trace=self.trace)
        if self._unread:
            self.question = await attachments_await(self.question, unread=self._unread, trace=self.trace)
        return await answer_question(self.question, workflow=self.message.workflow, trace=self.trace)

    def _broken_off(self, status: EndStatus, failure: AppError | None = None) -> Outcome:
        """With the sources that were sent; cited are those that the text so far cites."""
        cited = brackets_of(self.events.sources).cited(self.events.text)
        sources = tuple(replace(source, cited=source.marker in cited) for source in self.events.sources)
        answer = Answer(decision="ANSWER", text=self.events.text, sources=sources)
        if self._begun:  # what was there stays an answer, whatever becomes of its rest
            stored: Any = self.message
            answer = replace(answer, decision=stored.decision or "ANSWER", model=stored.model)
            if failure:
                outcome = self._outcome("interrupted", answer)
                reason = {"step": "generate", "reason": failure.message}
                return replace(outcome, degraded=[reason, *outcome.degraded])
        return self._outcome(status, answer, failure)

    def _outcome(self, status: EndStatus, answer: Answer, failure: AppError | None = None) -> Outcome:
        return Outcome(
            status=status,
            answer=replace(answer, text=self.events.text),
            steps=tuple(self.trace.steps),
            usage=self.trace.usage().as_dict(),
            degraded=self.trace.degraded,
            failure=failure,
            again=self.again,
            continued=self._begun is not None,
            searched_for=self.trace.searched_for or "",
        )

    async def _hand_over(self) -> None:
        """Another process goes on behind the last event."""
        await self.events.emit()
        await self._stored(
            lambda: answer_hand_over(
                message_id=self.message.pk, run_id=self._token, text=self.events.text, sources=self.events.sources
            )
        )

    async def _finish(self, outcome: Outcome) -> None:
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
        )
        if events is None:
            # Memories that the workflow wrote after the deletion had removed the others.
            await self._stored(lambda: answer_memories_forget(answer_id=message_id))
            events = [error_event(DELETED)]
        for event in events:
            await self.events.emit(event)

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
        outcome = Outcome(status="failed", answer=answer, failure=INTERNAL)
        if self._begun:
            outcome = self._broken_off("interrupted")
        try:
            await database_call(answer_finish, message_id=message_id, run_id=self._token, outcome=outcome)
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


def failure_of(error: BaseException, what: str) -> AppError:
    """Why a workflow failed, as its reader may know it; the log has the rest. what: was answered, for the log."""
    failure: AppError = INTERNAL
    if isinstance(error, AppError):
        failure = error
    elif isinstance(error, ModelError):
        failure = MODEL_AWAY
    elif is_database_away(error):
        failure = DatabaseAwayError()
    logger.error("%s failed: %s", what, error, exc_info=error if failure is INTERNAL else None)
    return failure


# ------------------------------------------------------------------------------------------------ the last events
def error_event(error: AppError) -> Event:
    """What ends a message that has no row to tell of it, without its number."""
    content = clean_text(localized(error.message))
    return {"type": "error", "done": True, "code": error.code, "content": content}


def ending(message: dict[str, Any]) -> list[Event]:
    """What ends a message for its readers, from its `message_data`, without numbers: the last is `done` or `error`."""
    if message["status"] == Message.Status.FAILED:
        error = message["error"]
        if error is None:
            return [error_event(INTERNAL)]
        return [{"type": "error", "done": True, "code": error["code"], "content": error["content"]}]
    done = {name: message[name] for name in ("answer", "sources", "decision")}
    events: list[Event] = [{"type": "done", "done": True, **done, "message": message}]
    if clarification := message["clarification"]:
        events.insert(0, {"type": "clarify", **clarification})
    return events


# ------------------------------------------------------------------------------------------------ tasks and groups
def session_group(session_id: UUID) -> str:
    """The channel layer's group of all open tabs on a session."""
    return f"chat.session.{session_id}"


async def _cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            logger.warning("a run's side task ended with %s: %s", type(result).__name__, result)


def _taken_note_of(work: asyncio.Task[Any]) -> None:
    if not work.cancelled() and (error := work.exception()):
        logger.info("a question that was refused had failed, too: %r", error)


_detached: set[asyncio.Task[Any]] = set()


def detach(work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
    """Run it as a task that outlives the request it was made in, with a database thread of its own."""

    async def with_own_thread() -> Result:
        async with own_database_thread():
            return await work

    # A fresh context, but for its trace and the request that the log names: the request's own database thread ends
    # with the request.
    context = contextvars.Context()
    context.run(attach, get_current())
    context.run(current_request.set, current_request.get())
    task = asyncio.create_task(with_own_thread(), context=context)
    _detached.add(task)
    task.add_done_callback(_detached.discard)
    return task


# ------------------------------------------------------------------------------------------------ the runs of a process
_runs: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[UUID, Run]] = WeakKeyDictionary()


def _running() -> dict[UUID, Run]:
    return _runs.setdefault(asyncio.get_running_loop(), {})


def run_find(message_id: UUID) -> Run | None:
    """The run, if this process has it."""
    return _running().get(message_id)


async def runs_drain(*, within_s: float) -> bool:
    """Wait until every answer of this process has ended, those included that are just being stored. False: not yet."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(within_s):
            while tasks := [task for task in _detached if task.get_loop() is loop]:
                await asyncio.wait(tasks)
    except TimeoutError:
        return False
    return True


def runs_interrupt() -> None:
    """Tell every run of this process to end. With Redis another process goes on with their answers; without, they
    become `interrupted` with the text they have."""
    for run in _running().values():
        run.end("handed_over" if settings.REDIS_URL else "interrupted")


async def runs_shut_down() -> None:
    """End every run of this process and wait for their ends, `SHUT_DOWN_S` at most."""
    runs_interrupt()
    if tasks := [run.task for run in _running().values() if run.task]:
        _, pending = await asyncio.wait(tasks, timeout=SHUT_DOWN_S)
        if pending:
            logger.error("%d answers could not be stored before the process stopped", len(pending))
