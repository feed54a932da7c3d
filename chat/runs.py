"""Runs: each answer that is being written, as a task of the server.

A run belongs to no request and no socket: whoever asked may go away. It writes its events to the log and its text to
the database, and it always ends its message, with exactly one `done` or `error`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID
from weakref import WeakKeyDictionary

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError, connections

from chat import selectors
from chat.answering import answer_question
from chat.message_data import message_data
from chat.outcome import EndStatus, Failure, Outcome
from chat.rendering import cited_markers
from chat.run_events import RunEvents
from chat.services.answers import answer_finish, answer_save_partial
from ragsite.errors import AppError
from retrieval.errors import ModelError
from retrieval.services.memory import answer_memories_forget
from retrieval.trace import Trace
from retrieval.values import Answer, Question, Source

logger = logging.getLogger(__name__)

End = Literal["stopped", "interrupted", "timeout"]
CANCEL_GRACE_S = 5.0  # a workflow that does not react to its cancellation for this long is left behind
DELETED = Failure(code="not_found", message="This conversation was deleted.", status=404)
INTERNAL = Failure(code="internal", message="Something went wrong while answering; it has been logged. Try again.")
TIMED_OUT = Failure(
    code="timeout", message="The answer took too long and was given up; try again.", status=503, retry_after_s=30
)
MODEL_AWAY = Failure(
    code="model_unavailable", message="The model did not answer; try again shortly.", status=503, retry_after_s=5
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What a run is to do: answer `question` into the stored message `message_id`."""

    message_id: UUID
    session_id: UUID
    user_message_id: UUID
    workflow: str
    question: Question


class Run:
    """One answer being written. `await run_start(...)` makes it; `end` stops it early."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.events = RunEvents(assignment.message_id)
        self.trace = Trace(self.events)
        self.task: asyncio.Task[None] | None = None
        self._work: asyncio.Task[Answer] | None = None
        self._end: End | None = None

    def end(self, how: End) -> None:
        """Cancel the workflow and the model's connection. The text so far is kept; only the first call counts."""
        if self._end is None:
            self._end = how
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
            await asyncio.wait({self._work}, timeout=settings.RAG.limits.answer_timeout_s)
            if not self._work.done():
                self.end(self._end or "timeout")
                await asyncio.wait({self._work}, timeout=CANCEL_GRACE_S)
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
        message_id = self.assignment.message_id
        if not await sync_to_async(answer_finish)(message_id=message_id, outcome=outcome):
            # What the workflow remembered after the deletion had looked for it.
            await sync_to_async(answer_memories_forget)(answer_id=message_id)
            await self.fail(DELETED)
            return
        if outcome.failure:
            await self.fail(outcome.failure)
            return
        if outcome.clarification:
            asked = outcome.clarification.as_dict()
            await self.events.emit("clarify", question=asked["question"], options=asked["options"])
        data = await sync_to_async(_stored_data)(message_id)
        if data is None:
            await self.fail(DELETED)
            return
        await self.events.emit("done", **done_fields(data))

    async def fail(self, failure: Failure) -> None:
        await self.events.emit("error", done=True, code=failure.code, content=failure.message)

    # -------------------------------------------------------------------------------------------- meanwhile
    async def _keep_saving(self) -> None:
        """Text and sign of life; the final write waits for this one, so it can't be overwritten."""
        while True:
            await asyncio.sleep(settings.RAG.limits.save_every_s)
            try:
                await sync_to_async(answer_save_partial)(message_id=self.assignment.message_id, text=self.events.text)
            except DatabaseError as error:
                logger.warning("message %s: partial text not saved: %s", self.assignment.message_id, error)

    async def _listen_for_stop(self) -> None:
        """A stop that was asked of another process."""
        layer = get_channel_layer()
        channel = await layer.new_channel("run")
        await layer.group_add(stop_group(self.assignment.message_id), channel)
        await layer.receive(channel)
        self.end("stopped")


def done_fields(data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a `done` event from `message_data`."""
    return {
        "done": True,
        "answer": data["answer"],
        "sources": data["sources"],
        "decision": data["decision"],
        "message": data,
    }


def stop_group(message_id: UUID) -> str:
    return f"chat.stop.{message_id}"


def _stored_data(message_id: UUID) -> dict[str, Any] | None:
    message = selectors.message_find(message_id)
    return message_data(message) if message else None


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
        await run.fail(INTERNAL)
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
    """Interrupt every run of this process and wait for their ends."""
    runs_interrupt()
    if tasks := [run.task for run in _running().values() if run.task]:
        await asyncio.wait(tasks, timeout=2 * CANCEL_GRACE_S)
