"""Runs: each answer that is being written, as a task of the server.

A run belongs to no request and no socket: whoever asked may go away. It writes its events to the log and its text to
the database, and it always ends its message, with exactly one `done` or `error`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connections

from chat import selectors
from chat.answering import answer_question
from chat.messages.data import message_data
from chat.messages.rendering import cited_markers
from chat.models import Message
from chat.runs.answers import answer_finish, answer_save_partial
from chat.runs.outcome import EndStatus, Failure, Outcome
from chat.runs.run_events import RunEvents, WorkflowEvents
from ragsite.core.database import DatabaseAwayError, database_call, is_database_away
from ragsite.core.errors import AppError
from retrieval.errors import ModelError
from retrieval.memory.services import answer_memories_forget
from retrieval.trace import Trace
from retrieval.values import Answer, Question, Source

SAVE_EVERY_S = 0.6  # an answer being written is stored this often: a kill costs its last second at most

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

End = Literal["stopped", "interrupted", "timeout", "refused"]
CANCEL_GRACE_S = 2.0  # a workflow that does not react to its cancellation for this long is left behind
SHUT_DOWN_S = 4.0  # what all runs of a process that stops have together, the storing of their answers included
FIRST_PAUSE_S, LONGEST_PAUSE_S, CLOSING_PAUSE_S = 0.2, 5.0, 0.2  # between attempts to store an answer
STOP = "run.stop"
DELETED = Failure(code="not_found", message="This conversation was deleted.", status=404)
INTERNAL = Failure(code="internal", message="Something went wrong while answering; it has been logged. Try again.")
TIMED_OUT = Failure(
    code="timeout", message="The answer took too long and was given up; try again.", status=503, retry_after_s=30
)
DATABASE_AWAY = Failure(code=DatabaseAwayError.code, message=DatabaseAwayError.message, status=503, retry_after_s=5)
MODEL_AWAY = Failure(
    code="model_unavailable", message="The model did not answer; try again shortly.", status=503, retry_after_s=5
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What a run is to do: answer `question` into the stored message `message_id`."""

    message_id: UUID
    run_id: UUID  # what entitles the run to write the message
    session_id: UUID
    user_message_id: UUID
    workflow: str
    question: Question


class Run:
    """One answer being written. `await run_start(...)` makes it; `end` stops it early."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.events = RunEvents(assignment.message_id)
        self._sink = WorkflowEvents(self.events)
        self.trace = Trace(self._sink)
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

    async def open(self) -> None:
        """Make the log, so that subscribers find it."""
        task = self.assignment
        await self.events.emit(
            "started",
            session_id=str(task.session_id),
            workflow=task.workflow,
            user_message_id=str(task.user_message_id),
        )

    async def drive(self) -> None:
        """Answer, and end the message whatever happens. Not to be cancelled: `end` is the way to stop it."""
        keeper = asyncio.create_task(self._keep_saving())
        listener = asyncio.create_task(self._listen_for_stop()) if settings.REDIS_URL else None
        try:
            outcome = await self._answer()
        finally:
            await _cancelled(keeper, listener)
        await self._finish(outcome)

    # -------------------------------------------------------------------------------------------- answering
    async def _answer(self) -> Outcome:
        if self._end is None:
            task = self.assignment
            self._work = asyncio.create_task(answer_question(task.question, workflow=task.workflow, trace=self.trace))
            await _first_of(self._work, self._ending.wait(), timeout_s=settings.RAG.limits.answer_timeout_s)
            if not self._work.done():
                self.end("timeout")
                await asyncio.wait({self._work}, timeout=CANCEL_GRACE_S)
        self._sink.close()
        if self._work is None or not self._work.done() or self._work.cancelled():
            return self._broken_off()
        if error := self._work.exception():
            return self._failed(error)
        return await self._answered(self._work.result())

    async def _answered(self, answer: Answer) -> Outcome:
        if answer.sources and not self.events.text:
            await self._announce(answer.sources)
        if not await self.events.complete_text(answer.text):
            logger.warning("message %s: the answer differs from its chunks, which stand", self.assignment.message_id)
        return self._outcome(
            "interrupted" if answer.partial else "complete",
            decision=answer.decision,
            reason=answer.reason,
            model=answer.model,
            clarification=answer.clarification,
            sources=answer.sources,
            grounding=answer.grounding,
        )

    async def _announce(self, sources: tuple[Source, ...]) -> None:
        if [source.marker for source in sources] != [source.marker for source in self.events.sources]:
            await self.events.sources_chosen(sources)

    def _broken_off(self) -> Outcome:
        if self._end == "timeout":
            return self._outcome("failed", sources=self._sources_so_far(), failure=TIMED_OUT)
        return self._outcome(
            "stopped" if self._end == "stopped" else "interrupted",
            decision="ANSWER" if self.events.text else "",
            sources=self._sources_so_far(),
        )

    def _failed(self, error: BaseException) -> Outcome:
        match error:
            case AppError():
                failure = Failure(
                    code=error.code, message=error.message, status=error.status, retry_after_s=error.retry_after_s
                )
                logger.warning("message %s failed: %s", self.assignment.message_id, error.code)
            case ModelError():
                failure = MODEL_AWAY
                logger.warning("message %s failed: %s", self.assignment.message_id, error.reason)
            case _ if is_database_away(error):
                failure = DATABASE_AWAY
                logger.warning("message %s failed: %s", self.assignment.message_id, error)
            case _:
                failure = INTERNAL
                logger.error("message %s failed", self.assignment.message_id, exc_info=error)
        return self._outcome("failed", sources=self._sources_so_far(), failure=failure)

    def _sources_so_far(self) -> tuple[Source, ...]:
        cited = cited_markers(self.events.text)
        return tuple(
            Source(marker=source.marker, chunk=source.chunk, scores=source.scores, cited=source.marker in cited)
            for source in self.events.sources
        )

    def _outcome(self, status: EndStatus, **fields: Any) -> Outcome:
        return Outcome(
            status=status,
            text=self.events.text,
            steps=tuple(self.trace.steps),
            usage=self.trace.usage().as_dict(),
            degraded=self.trace.degraded,
            **fields,
        )

    # -------------------------------------------------------------------------------------------- ending
    async def _finish(self, outcome: Outcome) -> None:
        message_id, run_id = self.assignment.message_id, self.assignment.run_id
        finished = await self._stored(lambda: answer_finish(message_id=message_id, run_id=run_id, outcome=outcome))
        data = await self._stored(lambda: _stored_data(message_id))
        if data is None:
            # What the workflow remembered after the deletion had looked for it.
            await self._stored(lambda: answer_memories_forget(answer_id=message_id))
            await self.fail(DELETED)
            return
        if not finished:
            logger.warning("message %s: it was ended elsewhere, which stands", message_id)
            if data["status"] == Message.Status.STREAMING:
                return  # by another run, which ends it for its readers
        for event in ending(data):
            fields = {name: value for name, value in event.items() if name != "type"}
            await self.events.emit(event["type"], **fields)

    async def _stored(self, call: Callable[[], Result]) -> Result:
        """The text is kept here until the database has it. Raises what waiting can't mend."""
        pause_s, told = FIRST_PAUSE_S, False
        while True:
            try:
                return await database_call(call)
            except DatabaseError as error:
                if not is_database_away(error):
                    raise
                if not told:
                    logger.warning("message %s waits for the database: %s", self.assignment.message_id, error)
                    told = True
            await _first_of(self._closing.wait(), timeout_s=pause_s)
            if self._closing.is_set():
                await asyncio.sleep(CLOSING_PAUSE_S)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def break_off(self) -> None:
        """The ending itself went wrong: store the text without what may have been the reason, and end the stream."""
        task = self.assignment
        outcome = Outcome(status="failed", text=self.events.text, failure=INTERNAL)
        try:
            await database_call(answer_finish, message_id=task.message_id, run_id=task.run_id, outcome=outcome)
        except DatabaseError as error:
            logger.error("the text of message %s is not stored: %s", task.message_id, error)
        await self.fail(INTERNAL)

    async def fail(self, failure: Failure) -> None:
        await self.events.emit("error", done=True, code=failure.code, content=failure.message)

    # -------------------------------------------------------------------------------------------- meanwhile
    async def _keep_saving(self) -> None:
        """Text and sign of life; the final write waits for this one, so it can't be overwritten."""
        task, failing = self.assignment, False
        while True:
            await asyncio.sleep(SAVE_EVERY_S)
            try:
                saved = await database_call(
                    answer_save_partial, message_id=task.message_id, run_id=task.run_id, text=self.events.text
                )
            except DatabaseError as error:
                if not failing:
                    logger.warning("message %s: partial text not saved: %s", task.message_id, error)
                failing = True
                continue
            failing = False
            if not saved:
                self.end("refused")
                return

    async def _listen_for_stop(self) -> None:
        """A stop that was asked of another process."""
        layer, group = get_channel_layer(), stop_group(self.assignment.message_id)
        channel = await layer.new_channel()  # no prefix: all of a process's receivers must share one
        try:
            await layer.group_add(group, channel)
            while (await layer.receive(channel))["type"] != STOP:
                pass  # the layer tells its channels other things, too
            self.end("stopped")
        finally:
            await layer.group_discard(group, channel)


def done_fields(data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a `done` event from `message_data`."""
    return {
        "done": True,
        "answer": data["answer"],
        "sources": data["sources"],
        "decision": data["decision"],
        "message": data,
    }


def ending(data: dict[str, Any]) -> list[dict[str, Any]]:
    """What ends a message for its readers, made from its `message_data`: the last of them is a `done` or an `error`."""
    if data["status"] == Message.Status.FAILED:
        error = data["error"] or INTERNAL.as_dict()
        return [{"type": "error", "done": True, "code": error["code"], "content": error["content"]}]
    events: list[dict[str, Any]] = [{"type": "done", **done_fields(data)}]
    if asked := data["clarification"]:
        events.insert(0, {"type": "clarify", "question": asked["question"], "options": asked["options"]})
    return events


def stop_group(message_id: UUID) -> str:
    return f"chat.stop.{message_id}"


def _stored_data(message_id: UUID) -> dict[str, Any] | None:
    message = selectors.message_find(message_id)
    return message_data(message) if message else None


async def _first_of(*waited: asyncio.Task[Any] | Coroutine[Any, Any, Any], timeout_s: float) -> None:
    """Wait for the first of them, or for the time. Tasks are left as they are, coroutines ended."""
    own = [asyncio.ensure_future(one) for one in waited if not isinstance(one, asyncio.Task)]
    tasks = [one for one in waited if isinstance(one, asyncio.Task)]
    await asyncio.wait([*tasks, *own], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    await _cancelled(*own)


async def _cancelled(*tasks: asyncio.Task[Any] | None) -> None:
    waiting = [task for task in tasks if task is not None]
    for task in waiting:
        task.cancel()
    for result in await asyncio.gather(*waiting, return_exceptions=True):
        if isinstance(result, Exception):
            logger.warning("a run's side task ended with %s: %s", type(result).__name__, result)


# ------------------------------------------------------------------------------------------------ the runs of a process
_runs: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[UUID, Run]] = WeakKeyDictionary()
_detached: set[asyncio.Task[Any]] = set()


def _running() -> dict[UUID, Run]:
    return _runs.setdefault(asyncio.get_running_loop(), {})


def detach(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Run it as a task that outlives the request it was made in, with a database thread of its own."""

    async def with_own_thread() -> Any:
        async with ThreadSensitiveContext():
            try:
                return await work
            finally:
                await sync_to_async(connections.close_all)()

    # A fresh context: the request's own database thread ends with the request.
    task = asyncio.create_task(with_own_thread(), context=contextvars.Context())
    _detached.add(task)
    task.add_done_callback(_detached.discard)
    return task


async def run_start(assignment: Assignment) -> Run:
    """Begin to answer. On return the log is there to be read."""
    run = Run(assignment)
    _running()[assignment.message_id] = run
    await run.open()
    run.task = detach(_guarded(run, _running()))
    return run


async def _guarded(run: Run, running: dict[UUID, Run]) -> None:
    try:
        await run.drive()
    except Exception:
        logger.exception("run of message %s broke", run.assignment.message_id)
        await run.break_off()
    finally:
        running.pop(run.assignment.message_id, None)


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
