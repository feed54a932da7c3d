"""The decision path: what each step did, how long it took, which model calls it made, where a fallback served.

A workflow run owns one `Trace`. The decorator `retrieval.engine.steps.step.step` opens an entry, and what runs inside
it says what came of it by a code and its values, or why it did nothing:

    note("queries_made", RewriteDetails(queries=texts))
    skip("switched_off")
    degrade(reason_of(error))

`path_details` has the details of each step, `path_texts` the sentence of each code, `reasons` what a reason is. Entries
and model calls are found through a context variable, so that nobody has to pass them on; tasks started inside a step
inherit it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from opentelemetry.trace import get_tracer

from ragsite.core.messages import joined
from retrieval.engine.path_details import DETAILS, StepDetails, StepName
from retrieval.engine.path_texts import path_text
from retrieval.engine.reasons import Reason, Why, as_reason
from retrieval.engine.usage import ModelCall, Usage, longest_chain
from retrieval.engine.values import AnswerSource

StepStatus = Literal["ok", "skipped", "degraded", "failed"]
TRACER = get_tracer("ragsite")  # spans go nowhere unless `ragsite.operations.telemetry` was started


@dataclass(slots=True)
class StepRecord:
    """One entry of the decision path, in the contract's shape."""

    seq: int
    name: StepName
    status: StepStatus = "ok"
    code: str = ""  # what came of it, see `retrieval.engine.path_texts`
    summary: str = ""  # the same as a sentence
    started_ms: int = 0
    duration_ms: int = 0
    details: StepDetails = field(default_factory=StepDetails)
    reason: Reason | None = None  # why it was skipped, degraded or failed, or what was decided
    calls: list[ModelCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.details = DETAILS[self.name]()

    def note(
        self,
        code: str,
        details: StepDetails | None = None,
        /,
        *,
        reason: Why | None = None,
        **more: Any,
    ) -> None:
        """What came of the step. details: of this step, kept beside what is there. more: what the sentence names
        besides.

        Raises TypeError for details of another step.
        """
        if reason is not None:
            self.reason = as_reason(reason)
            more["reason"] = self.reason.text
        if details is not None:
            self.add(details)
        self.code = code
        self.summary = path_text(code, dict(self.details.said()) | more)

    def add(self, details: StepDetails) -> None:
        """Keep these, beside what is there; those that several steps have may be given as such.

        Raises TypeError for details of another step.
        """
        if not isinstance(self.details, type(details)):
            raise TypeError(f"{type(details).__name__} are no details of the step {self.name}")
        self.details = replace(self.details, **dict(details.said()))

    def degrade(self, reason: Why) -> None:
        """A fallback served instead of the real thing."""
        self.status = "degraded"
        self.reason = as_reason(reason)

    def skip(self, reason: Why) -> None:
        """Nothing was to be done."""
        self.status = "skipped"
        self.reason = as_reason(reason)
        self.code = self.code or self.reason.code
        self.summary = self.summary or self.reason.text

    @property
    def detail(self) -> dict[str, Any]:
        """As JSON."""
        detail = self.details.as_json()
        if self.reason:
            detail["reason"] = self.reason.text
        return detail

    def as_dict(self) -> dict[str, Any]:
        detail = self.detail
        if self.calls:
            detail["model_calls"] = [call.as_dict() for call in self.calls]
        return {
            "seq": self.seq,
            "name": self.name,
            "status": self.status,
            "summary": self.summary,
            "started_ms": self.started_ms,
            "duration_ms": self.duration_ms,
            "detail": detail,
        }


class EventSink:
    """Where a run's events go while it runs: the contract's event types, without seq and message_id. This one drops
    them: for commands, evaluation and tests."""

    async def step_finished(self, step: StepRecord) -> None: ...

    async def tool_called(self, tool: str, content: str, step: StepRecord) -> None: ...

    async def sources_chosen(self, sources: Sequence[AnswerSource]) -> None: ...

    async def chunk(self, content: str) -> None: ...

    async def withdrawn(self) -> None:
        """The chunks so far were a model's thoughts: the answer starts again."""


class Trace:
    """Everything that happened while one question was answered.

    after: the number of the last step before, where an answer is continued. private: no text of it leaves the site
    by telemetry, whatever that is configured to capture.
    """

    def __init__(
        self, sink: EventSink | None = None, *, after: int = 0, private: bool = False
    ) -> None:
        self.sink = sink or EventSink()
        self.after = after
        self.private = private
        self.steps: list[StepRecord] = []
        self.calls: list[ModelCall] = []
        self.first_token_ms: float | None = None
        self.searched_for: str | None = (
            None  # the question as it was searched for first; None: nothing was
        )
        self._began = time.perf_counter()

    def now_ms(self) -> float:
        """Milliseconds since the run began."""
        return (time.perf_counter() - self._began) * 1000

    @asynccontextmanager
    async def step(self, name: StepName) -> AsyncIterator[StepRecord]:
        """Open a decision-path entry. An exception marks it failed (with the kind of error) and goes on."""
        record = StepRecord(
            seq=self.after + len(self.steps) + 1,
            name=name,
            started_ms=round(self.now_ms()),
        )
        self.steps.append(record)
        token = current_step.set((self, record))
        try:
            with TRACER.start_as_current_span(f"step {name}", record_exception=False) as span:
                yield record
                span.set_attribute("ragsite.step.status", record.status)
        except BaseException as error:
            record.status = "failed"
            record.reason = record.reason or Reason(
                "failed", {"error": f"{type(error).__name__}: {error}"[:300]}
            )
            raise
        finally:
            current_step.reset(token)
            record.duration_ms = max(0, round(self.now_ms()) - record.started_ms)
        await self.sink.step_finished(record)

    async def announce(self, tool: str, content: str) -> None:
        """The running step calls a tool: told at once, while it works. content: one line for people."""
        if current := current_step.get():
            await self.sink.tool_called(tool, content, current[1])

    async def choose_sources(self, sources: Sequence[AnswerSource]) -> None:
        """Send what the answer is written from, before its first piece."""
        await self.sink.sources_chosen(sources)

    async def emit_chunk(self, content: str) -> None:
        """Send the next piece of the answer; the first one stamps the time to the first token."""
        if self.first_token_ms is None:
            self.first_token_ms = self.now_ms()
        await self.sink.chunk(content)

    async def withdraw_chunks(self) -> None:
        await self.sink.withdrawn()

    @property
    def degraded(self) -> list[dict[str, str]]:
        """One entry per step that fell back: `{"step", "reason"}`; what ran more than once gives each reason once."""
        reasons: dict[str, dict[str, None]] = {}
        for step in self.steps:
            if step.status == "degraded":
                reasons.setdefault(step.name, {})[step.reason.text if step.reason else ""] = None
        return [
            {"step": name, "reason": joined("; ", filter(None, told))}
            for name, told in reasons.items()
        ]

    def usage(self) -> Usage:
        chats = [call for call in self.calls if call.kind == "chat"]
        # A step that was cancelled for a good first search was not waited for: its calls count, but as no round.
        given_up = {
            id(call) for step in self.steps if step.status == "skipped" for call in step.calls
        }
        first = self.first_token_ms
        return Usage(
            llm_calls=len(chats),
            llm_rounds=longest_chain(
                [call for call in chats if id(call) not in given_up], until_ms=first
            ),
            prompt_tokens=sum(call.prompt_tokens for call in chats),
            completion_tokens=sum(call.completion_tokens for call in chats),
            first_token_ms=None if first is None else round(first),
            total_ms=round(self.now_ms()),
        )


class HeldBackTrace(Trace):
    """A run's trace for an answer that is still to be judged: steps and model calls are the run's own and are reported
    as they happen; text and sources do not reach the reader."""

    def __init__(self, run: Trace) -> None:
        super().__init__(run.sink, after=run.after, private=run.private)
        self.steps = run.steps
        self.calls = run.calls
        self._began = run._began

    async def choose_sources(self, sources: Sequence[AnswerSource]) -> None: ...

    async def emit_chunk(self, content: str) -> None: ...

    async def withdraw_chunks(self) -> None: ...


current_step: ContextVar[tuple[Trace, StepRecord] | None] = ContextVar(
    "retrieval_current_step", default=None
)


def note(code: str, details: StepDetails | None = None, /, *, reason: Why | None = None) -> None:
    """What came of the running step, see `StepRecord.note`; nothing where none runs."""
    if current := current_step.get():
        current[1].note(code, details, reason=reason)


def running_entry() -> StepRecord:
    """The running step's entry. Raises LookupError where no step runs."""
    current = current_step.get()
    if current is None:
        raise LookupError("no step is running")
    return current[1]


def skip(reason: Why) -> None:
    """The running step has nothing to do, see `StepRecord.skip`."""
    if current := current_step.get():
        current[1].skip(reason)


def degrade(reason: Why) -> None:
    """The running step's fallback serves, see `StepRecord.degrade`."""
    if current := current_step.get():
        current[1].degrade(reason)


def note_index_wait(seconds: float) -> None:
    """The running step waited so long for the search index, which was being restarted; several waits add up."""
    if current := current_step.get():
        entry = current[1]
        waited_s = round((entry.details.waited_for_index_s or 0.0) + seconds, 2)
        entry.details = replace(entry.details, waited_for_index_s=waited_s)
