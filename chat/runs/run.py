"""Runs: each answer that is being written, as a task of the server.

A run belongs to no request and no socket: whoever asked may go away. It writes its events to the log and its text to
the database, and it always ends its message, with exactly one `done` or `error`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer
from django.conf import settings
from django.db import Error as DatabaseError

from chat import selectors
from chat.messages.data import answer_status, message_data, source_data
from chat.messages.rendering import cited_markers
from chat.models import Message
from chat.runs.answers import EndStatus, Failure, Outcome, answer_finish, answer_save_partial
from chat.runs.attachments import attachments_await
from chat.runs.event_log import Event, get_event_log
from ragsite.core.database import DatabaseAwayError, database_call, is_database_away, own_database_thread
from ragsite.core.errors import AppError
from ragsite.core.text import clean_json, clean_text
from ragsite.core.wording import Wordings, worded, wordings_of
from retrieval.engine import get_engine
from retrieval.errors import ModelError
from retrieval.memory.services import answer_memories_forget
from retrieval.providers.registry import ChosenModel
from retrieval.steps.continuing import Begun
from retrieval.steps.deps import Deps
from retrieval.trace import EventSink, StepRecord, Trace
from retrieval.values import Answer, Question, Source
from retrieval.workflows import get_workflow
from retrieval.workflows.workflow import continue_answer

CHUNK_EVERY_S = 0.04  # what is written meanwhile is one chunk: nobody reads finer, and each event has its price
SAVE_EVERY_S = 0.6  # an answer being written is stored this often: a kill costs its last second at most

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

End = Literal["stopped", "interrupted", "timeout", "refused"]
CANCEL_GRACE_S = 2.0  # a workflow that does not react to its cancellation for this long is left behind
SHUT_DOWN_S = 4.0  # what all runs of a process that stops have together, the storing of their answers included
FIRST_PAUSE_S, LONGEST_PAUSE_S, CLOSING_PAUSE_S = 0.2, 5.0, 0.2  # between attempts to store an answer
STOP = "run.stop"
DELETED = Failure(code="not_found", message=worded("This conversation was deleted."), status=404)
INTERNAL = Failure(
    code="internal", message=worded("Something went wrong while answering; it has been logged. Try again.")
)
TIMED_OUT = Failure(
    code="timeout",
    message=worded("The answer took too long and was given up; try again."),
    status=503,
    retry_after_s=30,
)
DATABASE_AWAY = Failure(code=DatabaseAwayError.code, message=DatabaseAwayError.message, status=503, retry_after_s=5)
MODEL_AWAY = Failure(
    code="model_unavailable",
    message=worded("The model did not answer; try again shortly."),
    status=503,
    retry_after_s=5,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What there is of an answer that goes on: its text, what that was written from, and what it has cost so far."""

    text: str
    sources: tuple[Source, ...]
    decision: str
    reason: str
    model: str
    usage: dict[str, Any]
    degraded: list[dict[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What a run is to do: answer `question` into the stored message `message_id`, once the attached files that are
    `unread` are read.

    again: an earlier run has written into it. beginning: what is kept of that; None: nothing.
    """

    message_id: UUID
    run_id: UUID  # the right to write the message
    session_id: UUID
    user_message_id: UUID
    workflow: str
    question: Question
    unread: tuple[UUID, ...] = ()
    again: bool = False
    beginning: Beginning | None = None


async def answer_question(question: Question, *, workflow: str, trace: Trace) -> Answer:
    """Run the named workflow on the running loop's engine. Raises AppError where no fallback could serve."""
    return await get_workflow(workflow).answer(question, engine=await _engine(question), trace=trace)


async def _engine(question: Question) -> Deps:
    """The engine, with the model that the question chose. One that has gone since is the site's again."""
    engine = get_engine()
    if not question.model or question.model not in (await engine.models.status()).chat_models:
        return engine
    return replace(engine, models=ChosenModel(engine.models, question.model))


class AnswerEvents(EventSink):
    """The events of one answer: numbered from 1, in order, written to the log as they happen. Its only writer.

    It is the `EventSink` of the answer's workflow until it is closed. `text` is what has been written so far, `sources`
    what was sent before the first chunk. The first piece of text is sent at once; later ones that come within
    CHUNK_EVERY_S of a chunk wait for each other, and go out before any other event.
    """

    def __init__(self, message_id: UUID) -> None:
        self.message_id = str(message_id)
        self.sources: tuple[Source, ...] = ()
        self._pieces: list[str] = []
        self._unsent: list[str] = []
        self._next_chunk_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._sources_sent = False
        self._closed = False
        self._seq = 0
        self._order = asyncio.Lock()  # steps run side by side

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    async def emit(self, event: Event) -> None:
        """Write an event of any type; it gets its `seq` and `message_id` here."""
        async with self._order:
            await self._write_unsent()
            await self._write(event)

    async def _write(self, event: Event) -> None:
        """`wordings`: what its readers' languages need (`follow` takes it out)."""
        self._seq += 1
        numbered = {"type": event["type"], "seq": self._seq, "message_id": self.message_id}
        await get_event_log().append(self.message_id, numbered | event)

    async def _write_unsent(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._unsent:
            content = "".join(self._unsent)
            self._unsent.clear()
            self._next_chunk_at = asyncio.get_running_loop().time() + CHUNK_EVERY_S
            await self._write({"type": "chunk", "content": content})

    async def _send_unsent(self) -> None:
        async with self._order:
            await self._write_unsent()

    async def begin(self, beginning: Beginning) -> None:
        """Send what is there already: the chunks put together are the answer, whenever a reader joined."""
        self.sources, self._sources_sent = beginning.sources, True
        await self.emit({"type": "sources", "sources": [source_data(source) for source in beginning.sources]})
        self._pieces.append(beginning.text)
        await self.emit({"type": "chunk", "content": beginning.text})

    def close(self) -> None:
        """From now on drop what the workflow sends: it may have been left behind."""
        self._closed = True

    async def step_finished(self, step: StepRecord) -> None:
        if not self._closed:
            entry = clean_json(step.as_dict())
            content = entry["summary"] or entry["name"].replace("_", " ")
            wordings = wordings_of(step.summary, step.detail)
            await self.emit({"type": "reasoning", "content": content, "step": entry, "wordings": wordings})

    async def tool_called(self, tool: str, content: str, step: StepRecord) -> None:
        if not self._closed:
            entry = clean_json(step.as_dict())
            wordings = wordings_of(content, step.summary, step.detail)
            event = {"type": "tool_call", "content": clean_text(content), "tool": tool, "step": entry}
            await self.emit({**event, "wordings": wordings})

    async def sources_chosen(self, sources: Sequence[Source]) -> None:
        if not self._closed:
            await self._send_sources(sources)

    async def chunk(self, content: str) -> None:
        if not self._closed:
            await self._send_chunk(content)

    async def complete(self, answer: Answer) -> bool:
        """Send what is missing of the whole answer. False: the chunks are not its beginning, and stand as they are."""
        text, sent = clean_text(answer.text), self.text
        if answer.sources and not sent and _markers(answer.sources) != _markers(self.sources):
            await self._send_sources(answer.sources)
        if text.startswith(sent):
            await self._send_chunk(text[len(sent) :])
            return True
        return False

    async def _send_sources(self, sources: Sequence[Source]) -> None:
        """Readers get them before the text: a choice made after the first chunk shows in `done` alone."""
        if not self._pieces:
            self.sources, self._sources_sent = tuple(sources), True
            await self.emit({"type": "sources", "sources": [source_data(source) for source in sources]})

    async def _send_chunk(self, content: str) -> None:
        if content := clean_text(content):
            if not self._sources_sent:
                await self._send_sources(())
            self._pieces.append(content)
            self._unsent.append(content)
            loop = asyncio.get_running_loop()
            if loop.time() >= self._next_chunk_at:
                await self._send_unsent()
            elif self._timer is None:
                self._timer = loop.call_at(self._next_chunk_at, self._send_soon)

    def _send_soon(self) -> None:
        self._timer = None
        self._sending = asyncio.create_task(self._send_unsent())


def _markers(sources: Sequence[Source]) -> list[int]:
    return [source.marker for source in sources]


class Run:
    """One answer being written. `await run_start(...)` makes it; `end` stops it early."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.events = AnswerEvents(assignment.message_id)
        self.trace = Trace(self.events)
        self.task: asyncio.Task[None] | None = None
        self._work: asyncio.Task[Answer] | None = None
        self._end: End | None = None
        self._ending = asyncio.Event()
        self._closing = asyncio.Event()

    def end(self, how: End) -> None:
        """Cancel the workflow and the model's connection. The text so far is kept; only the first call counts."""
        if how == "interrupted":
            self._closing.set()
        if self._end is None:
            self._end = how
            self._ending.set()
            if self._work:
                self._work.cancel()

    async def drive(self) -> None:
        """Answer, and end the message whatever happens. Not to be cancelled: `end` is the way to stop it."""
        saving = asyncio.create_task(self._keep_saving())
        listening = asyncio.create_task(self._listen_for_stop()) if settings.REDIS_URL else None
        try:
            outcome = await self._answer()
        finally:
            await _cancelled(saving, listening)
        await self._finish(outcome)

    async def _answer(self) -> Outcome:
        """Run the workflow to its end, to its time limit, or to the call of `end`."""
        message_id = self.assignment.message_id
        if self._end is None:
            self._work = asyncio.create_task(self._write())
            await _first_of(self._work, self._ending.wait(), timeout_s=settings.RAG.limits.answer_timeout_s)
            if not self._work.done():
                self.end("timeout")
                await asyncio.wait({self._work}, timeout=CANCEL_GRACE_S)
        self.events.close()
        if self._work is None or not self._work.done() or self._work.cancelled():
            if self._end == "timeout":
                return self._broken_off("failed", failure=TIMED_OUT)
            status: EndStatus = "stopped" if self._end == "stopped" else "interrupted"
            return self._broken_off(status, decision="ANSWER" if self.events.text else "")
        if error := self._work.exception():
            return self._broken_off("failed", failure=_failure(error, message_id))
        answer = self._work.result()
        if not await self.events.complete(answer):
            logger.warning("message %s: the answer differs from its chunks, which stand", message_id)
        return self._outcome(
            answer_status(answer),
            decision=answer.decision,
            reason=answer.reason,
            model=answer.model,
            clarification=answer.clarification,
            sources=answer.sources,
            grounding=answer.grounding,
            curated=answer.curated,
        )

    async def _write(self) -> Answer:
        task = self.assignment
        if (begun := task.beginning) is None:
            question = await attachments_await(task.question, unread=task.unread, trace=self.trace)
            return await answer_question(question, workflow=task.workflow, trace=self.trace)
        rest = Begun(question=task.question, text=begun.text, sources=begun.sources, reason=begun.reason)
        return await continue_answer(rest, engine=await _engine(task.question), trace=self.trace)

    def _broken_off(self, status: EndStatus, **fields: Any) -> Outcome:
        """With the sources that were sent; cited are those that the text so far cites."""
        if begun := self.assignment.beginning:  # what was there stays an answer, whatever becomes of its rest
            fields = {"decision": begun.decision, "reason": begun.reason, "model": begun.model} | fields
            if failure := fields.pop("failure", None):
                return self._broken_off("interrupted", **fields, why=failure.message)
        cited = cited_markers(self.events.text)
        sources = [
            Source(marker=source.marker, chunk=source.chunk, scores=source.scores, cited=source.marker in cited)
            for source in self.events.sources
        ]
        return self._outcome(status, sources=tuple(sources), **fields)

    def _outcome(self, status: EndStatus, *, why: str = "", **fields: Any) -> Outcome:
        """why: the rest of an answer that was there can't be written."""
        usage, degraded = self.trace.usage().as_dict(), self.trace.degraded
        if begun := self.assignment.beginning:
            usage = _usage_together(begun.usage, usage)
            degraded = [fell for fell in begun.degraded if fell["step"] != "generate"] + degraded
        if why:
            degraded = [fell for fell in degraded if fell["step"] != "generate"] + [{"step": "generate", "reason": why}]
        return Outcome(
            status=status,
            text=self.events.text,
            steps=tuple(self.trace.steps),
            usage=usage,
            degraded=degraded,
            again=self.assignment.again,
            continued=begun is not None,
            **fields,
        )

    async def _finish(self, outcome: Outcome) -> None:
        """Store the answer, then send its last events, made from what is stored."""
        message_id, run_id = self.assignment.message_id, self.assignment.run_id
        finished = False

        def store_and_read() -> list[Event] | None:
            nonlocal finished
            stored = None if finished else answer_finish(message_id=message_id, run_id=run_id, outcome=outcome)
            finished = finished or stored is not None
            stored = selectors.message_ended(stored) if stored else selectors.message_find(message_id)
            if stored is None or (not finished and stored.status == Message.Status.STREAMING):
                return None if stored is None else []
            return ending(message_data(stored), stored.wordings)

        events = await self._stored(store_and_read)
        if events is None:
            # Memories that the workflow wrote after the deletion had removed the others.
            await self._stored(lambda: answer_memories_forget(answer_id=message_id))
            await self.events.emit(error_event(DELETED.code, DELETED.message))
            return
        if not finished:
            # None: by another run, which ends it for its readers.
            logger.warning("message %s: it was ended elsewhere, which stands", message_id)
        for event in events:
            await self.events.emit(event)

    async def _stored(self, call: Callable[[], Result]) -> Result:
        """The text is kept here until the database has it. Raises what waiting can't mend."""
        pause_s, warned = FIRST_PAUSE_S, False
        while True:
            try:
                return await database_call(call)
            except DatabaseError as error:
                if not is_database_away(error):
                    raise
                if not warned:
                    logger.warning("message %s waits for the database: %s", self.assignment.message_id, error)
                    warned = True
            await _first_of(self._closing.wait(), timeout_s=pause_s)
            if self._closing.is_set():
                await asyncio.sleep(CLOSING_PAUSE_S)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def break_off(self) -> None:
        """The ending itself went wrong: store the text without what may have been the reason, and end the stream."""
        task = self.assignment
        outcome = Outcome(status="failed", text=self.events.text, failure=INTERNAL)
        if task.beginning:
            outcome = self._broken_off("interrupted")
        try:
            await database_call(answer_finish, message_id=task.message_id, run_id=task.run_id, outcome=outcome)
        except DatabaseError as error:
            logger.error("the text of message %s is not stored: %s", task.message_id, error)
        await self.events.emit(error_event(INTERNAL.code, INTERNAL.message))

    async def _keep_saving(self) -> None:
        """Text and sign of life; the final write waits for this one, so it can't be overwritten."""
        task, failing = self.assignment, False
        stored = task.beginning.sources if task.beginning else ()
        while True:
            await asyncio.sleep(SAVE_EVERY_S)
            chosen = self.events.sources
            try:
                saved = await database_call(
                    answer_save_partial,
                    message_id=task.message_id,
                    run_id=task.run_id,
                    text=self.events.text,
                    sources=() if chosen == stored else chosen,
                )
            except DatabaseError as error:
                if not failing:
                    logger.warning("message %s: partial text not saved: %s", task.message_id, error)
                failing = True
                continue
            failing, stored = False, chosen
            if not saved:
                self.end("refused")
                return

    async def _listen_for_stop(self) -> None:
        """A stop that was asked of another process."""
        layer, group = get_channel_layer(), stop_group(self.assignment.message_id)
        channel = await layer.new_channel()
        try:
            await layer.group_add(group, channel)
            while (await layer.receive(channel))["type"] != STOP:
                pass  # the layer tells its channels other things, too
            self.end("stopped")
        finally:
            await layer.group_discard(group, channel)


def _usage_together(before: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    """Of both runs; the first token is the first one's."""
    sums = {name: (before.get(name) or 0) + (value or 0) for name, value in added.items()}
    return sums | {"first_token_ms": before.get("first_token_ms") or added["first_token_ms"]}


def _failure(error: BaseException, message_id: UUID) -> Failure:
    """Why a workflow failed, as its reader may know it; the log has the rest."""
    match error:
        case AppError():
            logger.warning("message %s failed: %s", message_id, error.code)
            return Failure(
                code=error.code, message=error.message, status=error.status, retry_after_s=error.retry_after_s
            )
        case ModelError():
            logger.warning("message %s failed: %s", message_id, error.reason)
            return MODEL_AWAY
        case _ if is_database_away(error):
            logger.warning("message %s failed: %s", message_id, error)
            return DATABASE_AWAY
    logger.error("message %s failed", message_id, exc_info=error)
    return INTERNAL


# ------------------------------------------------------------------------------------------------ the last events
def error_event(code: str, content: str, wordings: Wordings | None = None) -> Event:
    """An `error` that ends a message, without its number. `wordings`: where the content is a stored text."""
    told = wordings_of(content) if wordings is None else wordings
    return {"type": "error", "done": True, "code": code, "content": clean_text(content), "wordings": told}


def ending(message: dict[str, Any], wordings: Wordings) -> list[Event]:
    """What ends a message for its readers, from its `message_data`, without numbers: the last is `done` or `error`."""
    if message["status"] == Message.Status.FAILED:
        error = message["error"] or INTERNAL.as_dict()
        return [error_event(error["code"], error["content"], wordings if message["error"] else None)]
    done = {name: message[name] for name in ("answer", "sources", "decision")}
    events: list[Event] = [{"type": "done", "done": True, **done, "message": message, "wordings": wordings}]
    if asked := message["clarification"]:
        events.insert(0, {"type": "clarify", "question": asked["question"], "options": asked["options"]})
    return events


def stop_group(message_id: UUID) -> str:
    """The channel layer's group in which the run of a message hears that it is to stop."""
    return f"chat.stop.{message_id}"


# ------------------------------------------------------------------------------------------------ tasks
async def _first_of(*waited: asyncio.Task[Any] | Coroutine[Any, Any, Any], timeout_s: float) -> None:
    """Wait for the first of them, or for the time. Tasks are left as they are, coroutines ended."""
    own = [asyncio.ensure_future(awaited) for awaited in waited if not isinstance(awaited, asyncio.Task)]
    tasks = [awaited for awaited in waited if isinstance(awaited, asyncio.Task)]
    await asyncio.wait([*tasks, *own], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    await _cancelled(*own)


async def _cancelled(*tasks: asyncio.Task[Any] | None) -> None:
    waiting = [task for task in tasks if task is not None]
    for task in waiting:
        task.cancel()
    for result in await asyncio.gather(*waiting, return_exceptions=True):
        if isinstance(result, Exception):
            logger.warning("a run's side task ended with %s: %s", type(result).__name__, result)


_detached: set[asyncio.Task[Any]] = set()


def detach(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Run it as a task that outlives the request it was made in, with a database thread of its own."""

    async def with_own_thread() -> Any:
        async with own_database_thread():
            return await work

    # A fresh context: the request's own database thread ends with the request.
    task = asyncio.create_task(with_own_thread(), context=contextvars.Context())
    _detached.add(task)
    task.add_done_callback(_detached.discard)
    return task


# ------------------------------------------------------------------------------------------------ the runs of a process
_runs: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[UUID, Run]] = WeakKeyDictionary()


def _running() -> dict[UUID, Run]:
    return _runs.setdefault(asyncio.get_running_loop(), {})


async def run_start(assignment: Assignment) -> Run:
    """Begin to answer. On return the log is there to be read."""
    run, running = Run(assignment), _running()
    if assignment.again:
        await get_event_log().begin(str(assignment.message_id))
    running[assignment.message_id] = run

    async def to_its_end() -> None:
        try:
            await run.drive()
        except Exception:
            logger.exception("run of message %s broke", assignment.message_id)
            await run.break_off()
        finally:
            running.pop(assignment.message_id, None)

    await run.events.emit(
        {
            "type": "started",
            "session_id": str(assignment.session_id),
            "workflow": assignment.workflow,
            "user_message_id": str(assignment.user_message_id),
        }
    )
    if assignment.beginning:
        await run.events.begin(assignment.beginning)
    run.task = detach(to_its_end())
    return run


def run_find(message_id: UUID) -> Run | None:
    """The run, if this process has it."""
    return _running().get(message_id)


def runs_interrupt() -> None:
    """Tell every run of this process to end; their messages become `interrupted` with the text they have."""
    for run in _running().values():
        run.end("interrupted")


async def runs_shut_down() -> None:
    """Interrupt every run of this process and wait for their ends, `SHUT_DOWN_S` at most."""
    runs_interrupt()
    if tasks := [run.task for run in _running().values() if run.task]:
        _, pending = await asyncio.wait(tasks, timeout=SHUT_DOWN_S)
        if pending:
            logger.error("%d answers could not be stored before the process stopped", len(pending))
