"""The decision path: what each step did, how long it took, which model calls it made, where a fallback served.

A workflow run owns one `Trace`. The decorator `retrieval.engine.steps.step.step` opens an entry, and what runs inside
it says what came of it by a code and its values, or why it did nothing:

    note("queries_made", queries=texts)
    skip("switched_off")
    degrade(error.reason)

`TEXTS` has the sentence of each code: `{name}` is a value of the entry's detail; where a value is a code itself
(`CODES`), its own sentence stands in its place. Entries and model calls are found through a context variable, so
that nobody has to pass them on; tasks started inside a step inherit it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, get_tracer

from ragsite.core.messages import Sentence, joined, worded
from retrieval.engine.errors import ModelError
from retrieval.engine.ports import Prompt
from retrieval.engine.values import Source

# ------------------------------------------------------------------------------------------------ sentences
MAX_CHARS = 300  # of one value within a sentence
CODES = ("reason", "purpose", "decision", "problem")  # values that may be codes themselves

TEXTS: dict[str, Sentence] = {
    # ---------------------------------------------------------------- any step
    "switched_off": worded("switched off"),
    "no_time_left": worded("no time was left for the model"),
    "too_late": worded("no result within {limit_s} s"),
    "late": worded("no result within the time limit"),
    "nothing_found": worded("nothing was found"),
    "nothing_new": worded("nothing new was found"),
    "no_documents": worded("there are no documents to search in"),
    "no_model_reads": worded("no model judges the passages"),
    # ---------------------------------------------------------------- query
    "stands_alone": worded("the question is complete in itself"),
    "condensed": worded("{standalone_question}"),
    "passage_imagined": worded("{passage}"),
    "queries_made": worded("{queries}"),
    "no_other_words": worded("no other words are left to try"),
    "query_tried_before": worded("the model gave a query that was tried before, or none"),
    "rewritten": worded("attempt {attempt}: {rewritten}"),
    "filters_read": worded("{from_model}"),
    "values_named": worded("named in the question, so preferred: {values}"),
    "no_filters_read": worded("the model reads no other filter from the question"),
    "strategy": worded("{route}: {standalone_question}"),
    "route_not_available": worded("the model chose a way that is not available"),
    "rewritten_first": worded("the query is rewritten before the search: it is short, or follows another"),
    "rewritten_by_route": worded("the query is rewritten before the search: the model says that it is chatty or vague"),
    "straight_to_search": worded("straight to the search"),
    "plan_by_model": worded("{type}, {complexity}: {order}"),
    "plan_by_rule": worded("{order}"),
    "plan_mended": worded("retry {retry}, {problem} → {remedy}: {order}"),
    "outdated": worded("what was found is out of date"),
    "absent": worded("the documents hold nothing about it"),
    "badly_ordered": worded("what answers did not come first"),
    "incomplete": worded("a part of the question is not covered"),
    "low_relevance": worded("too little of it is relevant"),
    "not_enough": worded("it was not enough"),
    "task_running": worded("{id} {type}: running"),
    "task_done": worded("{id} {type}: {note} found"),
    "task_failed": worded("{id} {type}: not possible, {note}"),
    "plan_without_search": worded("no task of the model's plan searches for anything"),
    # ---------------------------------------------------------------- retrieve
    "retrieved": worded("passages found: {found}; queries: {searched}"),
    "retrieved_for": worded("{purpose}: passages found: {found}; queries: {searched}"),
    "retrieved_preferring": worded(
        "{purpose}: passages found: {found}; preferred, so first: {values} ({lifted}); queries: {searched}"
    ),
    "retrieved_relaxed": worded(
        "{purpose}: passages found: {found}; preferred, but relaxed, since nothing found has it: {values}; "
        "queries: {searched}"
    ),
    "retrieved_again": worded("{purpose}: passages found: {found}; queries: {searched}; taken from the cache"),
    "retrieved_again_preferring": worded(
        "{purpose}: passages found: {found}; preferred, so first: {values} ({lifted}); queries: {searched}; "
        "taken from the cache"
    ),
    "retrieved_again_relaxed": worded(
        "{purpose}: passages found: {found}; preferred, but relaxed, since nothing found has it: {values}; "
        "queries: {searched}; taken from the cache"
    ),
    "all_words": worded("all words"),
    "own_words": worded("the question as asked"),
    "by_words_alone": worded("by words alone"),
    "wider": worded("wider, without the filters read from the question"),
    "on_the_web": worded("on the web"),
    "refined": worded("search {number}: {purpose}"),
    "ratings_late": worded("ratings could not be used: they took too long"),
    "boosted": worded("ratings moved {rated} of {found} passages"),
    "not_boosted": worded("no ratings apply to what was found"),
    "deduped": worded("passages: {before} → {after}"),
    "ordered": worded("kept {given} of {found} passages, best first"),
    "ordered_sandwich": worded("kept {given} of {found} passages, best first and last, the weakest in the middle"),
    "too_far": worded("left out {left_out} passages less similar than {least}"),
    "compressed": worded("cut from {before} to {after} tokens"),
    "web_not_wanted": worded("not asked for"),
    "no_web_search": worded("this site has no web search (RAG_WEB_SEARCH)"),
    "web_away": worded("the web could not be searched: {reason}"),
    "web_found": worded("{query}: results: {count}"),
    # ---------------------------------------------------------------- judge
    "reranked": worded("best {best}: {title}"),
    "reranked_fewer": worded("best {best}: {title}; left out: {left_out}"),
    "reranked_below": worded("none reaches {min_score}, so the best stays: {best}, {title}; left out: {left_out}"),
    "judged_yes": worded("the model says that passages answer"),
    "judged_no": worded("the model says that no passage answers"),
    "judged_unclear": worded("the model says that the passages are about different things"),
    "enough_good": worded("good passages: {good}; needed: {min_docs}"),
    "too_few_good": worded("good passages: {good}, too few; needed: {min_docs}"),
    "not_judged": worded("no model judged what was found"),
    "passage_out_of_range": worded("the model named a passage that it was not shown"),
    "score_out_of_range": worded("the model gave a number outside its range"),
    "graded": worded("documents: {total_count}; relevant: {pass_count}; graded earlier: {graded_before}"),
    "model_says_relevant": worded("the model says: relevant"),
    "model_says_not_relevant": worded("the model says: not relevant"),
    "not_graded": worded("no model graded it, so it stays"),
    "pass_rate": worded("pass rate {pass_rate}, {pass_threshold} needed: {verdict}"),
    "pass_rate_stop": worded("pass rate {pass_rate}, {pass_threshold} needed: {verdict} ({stop})"),
    "enough": worded("enough documents passed"),
    "web_was_last": worded("the web was searched last"),
    "rewrites_used_up": worded("all rewrites are used up"),
    "forced_to_generate": worded("no document passed, and an answer was asked for all the same"),
    "no_time_to_search": worded("too little time is left to search again"),
    "reflected": worded(
        "{outcome}: {score} (relevance {relevance}, completeness {completeness}, factuality {factuality})"
    ),
    "wrong_number_of_scores": worded("the model did not score each passage"),
    "answer_accepted": worded("accepted ({score})"),
    "answer_rejected": worded("rejected ({score})"),
    "answer_rejected_twice": worded("no draft was accepted; this is the best of them"),
    "no_model_wrote": worded("no model wrote this answer, so none judges it"),
    # ---------------------------------------------------------------- answer
    "passages_shown": worded("{shown} of {of} passages shown as they stand, without a model"),
    "passages_shown_alone": worded("no model wrote; these passages fit best"),
    "model_refuses": worded("{reason}, says {model}"),
    "judged_not_written": worded(
        "a model says that passages answer, and the one that writes put nothing of them into words"
    ),
    "passages_do_not_answer": worded("the passages do not answer"),
    "passages_differ": worded("the passages are about different things"),
    "empty_answer": worded("the model gave an empty answer"),
    "time_was_over": worded("the time for the answer ran out"),
    "asked_back": worded("{question}"),
    "found_but_weak": worded("what was found does not answer the question"),
    "checked_answer_fits": worded("a checked answer to “{question}” fits"),
    "checked_beforehand": worded("written and checked by {by} on {on}"),
    "checked_answers_late": worded("checked answers could not be looked up in time"),
    "no_word_found": worded("no word of the message stands in a document"),
    "no_direct_reply": worded("no model to reply from the conversation"),
    "decided": worded("{decision}: {reason}"),
    "not_decided": worded("no decision: {reason}"),
    "written_without_confirmation": worded(
        "no other words are left; this is written from what was found, which the model does not call sufficient"
    ),
    "ANSWER": worded("Answered"),
    "CLARIFY": worded("Asked back"),
    "NO_ANSWER": worded("No answer found"),
    "this_was_found": worded("the passages answer the question"),
    "no_documents_needed": worded("it needed no documents"),
    # ---------------------------------------------------------------- cite
    "sentences_checked": worded(
        "sentences backed by a source: {good}; weakly backed: {weak}; not checked: {unchecked}"
    ),
    "nothing_stated": worded("nothing in the answer states a fact"),
    "no_answer_to_check": worded("there is no answer to check"),
    "quoted_word_by_word": worded("the sentences are quoted word by word"),
    "verdicts_missing": worded("the model did not check every sentence"),
    "cites_too_much": worded("it rests on more passages than a short look can hold"),
    "support_full": worded("the model confirms the answer"),
    "support_partly": worded("the model confirms a part of the answer"),
    "support_none": worded("the model does not confirm the answer"),
    # ---------------------------------------------------------------- whole documents
    "task_summarise": worded("to be summarised as a whole"),
    "task_list": worded("deadlines, amounts and contacts are to be listed"),
    "task_compare": worded("two documents are to be compared"),
    "documents_read": worded("read {read} of {total} sections of {titles}"),
    "notes_taken": worded("notes made: {notes}; sections read: {read}"),
    "rows_found": worded("entries found: {rows}; sections read: {read}"),
    "sentences_compared": worded("sentences: {changed} changed, {new} new, {gone} gone, {same} the same"),
    "written": worded("{characters} characters from {of} passages, by {model}"),
    "quoted": worded("lines quoted: {lines}"),
    "document_unread": worded("the model could not read the document"),
    "document_missing": worded("a document is no longer there"),
    "document_empty": worded("the document holds no text"),
    "list_needs_model": worded("a list needs a language model"),
    "nothing_of_this_kind": worded("the document holds nothing of this kind"),
    # ---------------------------------------------------------------- memory
    "memory_not_here": worded("earlier answers are not recalled here"),
    "memory_nobody": worded("nobody is signed in whose earlier answers could be remembered"),
    "memory_off": worded("this user has switched the memory off"),
    "memory_late": worded("the memory did not answer in time"),
    "memory_empty": worded("nothing to recall"),
    "memory_recalled": worded("earlier answers recalled: {count}"),
    "remembered": worded("remembered"),
    "remembered_anew": worded("remembered, in place of an older answer"),
    "not_accepted": worded("the answer was not accepted"),
    "not_whole": worded("only whole answers are remembered"),
    "not_cited": worded("only what is cited is remembered"),
    "no_statement": worded("the answer states nothing that could be remembered"),
}


def path_text(code: str, detail: Mapping[str, Any]) -> Sentence:
    """The sentence of an entry. Raises KeyError for a code that is not in `TEXTS`, or a value that is not given."""
    template = TEXTS[code].wording["text"]
    return worded(
        template, **{name: _shown(name, value) for name, value in detail.items() if f"{{{name}}}" in template}
    )


def reason_text(reason: str) -> str:
    """A code's sentence; what is no code is a sentence already."""
    return TEXTS.get(reason, reason)


def _shown(name: str, value: Any) -> Any:
    match value:
        case Sentence():
            return value
        case str():
            return TEXTS[value] if name in CODES and value in TEXTS else value[:MAX_CHARS]
        case Mapping():
            return ", ".join(f"{key} = {_shown('', held)}" for key, held in value.items())
        case list() | tuple():
            return "; ".join(str(_shown("", held)) for held in value)[:MAX_CHARS]
        case float():
            return round(value, 2)
        case _:
            return value


# ------------------------------------------------------------------------------------------------ the path
StepStatus = Literal["ok", "skipped", "degraded", "failed"]
StepName = Literal[
    "memory",
    "condense",
    "route",
    "plan",
    "rewrite",
    "step_back",
    "decompose",
    "hyde",
    "retrieve",
    "fuse",
    "boost",
    "dedupe",
    "rerank",
    "assess",
    "grade",
    "refine",
    "web_search",
    "compress",
    "order",
    "clarify",
    "generate",
    "verify",
    "reflect",
    "consolidate",
]


TRACER = get_tracer("ragsite")  # spans go nowhere unless `ragsite.operations.telemetry` was started
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@dataclass(slots=True)
class ModelCall:
    """One call of a chat or embedding model. Times in ms since the run began."""

    kind: Literal["chat", "embed"]
    model: str
    prompt_name: str = ""
    prompt_hash: str = ""
    prompt: Prompt | None = None  # as it was filled; not a part of the path
    asked_ms: float | None = None  # where it waited in a queue of ours: since when
    started_ms: float = 0.0
    ended_ms: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prefill_ms: float | None = None  # as the server tells: reading the prompt
    generation_ms: float | None = None  # and writing the answer
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "model": self.model,
            "prompt": self.prompt_name,
            "prompt_hash": self.prompt_hash,
            "started_ms": round(self.started_ms),
            "ended_ms": None if self.ended_ms is None else round(self.ended_ms),
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "error": self.error,
            "prefill_ms": None if self.prefill_ms is None else round(self.prefill_ms),
            "generation_ms": None if self.generation_ms is None else round(self.generation_ms),
        }


@dataclass(slots=True)
class StepRecord:
    """One entry of the decision path, in the contract's shape."""

    seq: int
    name: StepName
    status: StepStatus = "ok"
    code: str = ""  # what came of it, see `retrieval.engine.trace`
    summary: str = ""  # the same as a sentence
    started_ms: int = 0
    duration_ms: int = 0
    detail: dict[str, Any] = field(default_factory=dict)
    calls: list[ModelCall] = field(default_factory=list)

    def note(self, code: str, /, **detail: Any) -> None:
        """What came of the step. `detail` is kept, beside what is there, as JSON of the path."""
        self.detail |= detail
        self.code = code
        self.summary = path_text(code, self.detail)

    def degrade(self, reason: str) -> None:
        """A fallback served instead of the real thing. reason: a code, or a sentence."""
        self.status = "degraded"
        self.detail["reason"] = reason_text(reason)

    def skip(self, reason: str) -> None:
        """Nothing was to be done. reason: a code, or a sentence."""
        self.status = "skipped"
        self.code = self.code or reason
        self.summary = self.summary or reason_text(reason)
        self.detail["reason"] = reason_text(reason)

    def as_dict(self) -> dict[str, Any]:
        detail = dict(self.detail)
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

    async def sources_chosen(self, sources: Sequence[Source]) -> None: ...

    async def chunk(self, content: str) -> None: ...

    async def withdrawn(self) -> None:
        """The chunks so far were a model's thoughts: the answer begins anew."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost. llm_rounds: calls on the longest chain before the first token."""

    llm_calls: int
    llm_rounds: int
    prompt_tokens: int
    completion_tokens: int
    first_token_ms: int | None
    total_ms: int

    def as_dict(self) -> dict[str, int | None]:
        return asdict(self)


class Trace:
    """Everything that happened while one question was answered.

    after: the number of the last step before, where an answer is gone on with.
    """

    def __init__(self, sink: EventSink | None = None, *, after: int = 0) -> None:
        self.sink = sink or EventSink()
        self.after = after
        self.steps: list[StepRecord] = []
        self.calls: list[ModelCall] = []
        self.first_token_ms: float | None = None
        self._began = time.perf_counter()

    def now_ms(self) -> float:
        """Milliseconds since the run began."""
        return (time.perf_counter() - self._began) * 1000

    @asynccontextmanager
    async def step(self, name: StepName) -> AsyncIterator[StepRecord]:
        """Open a decision-path entry. An exception marks it failed (with the kind of error) and goes on."""
        record = StepRecord(seq=self.after + len(self.steps) + 1, name=name, started_ms=round(self.now_ms()))
        self.steps.append(record)
        token = _current.set((self, record))
        try:
            with TRACER.start_as_current_span(f"step {name}", record_exception=False) as span:
                yield record
                span.set_attribute("ragsite.step.status", record.status)
        except BaseException as error:
            record.status = "failed"
            record.detail.setdefault("reason", f"{type(error).__name__}: {error}"[:300])
            raise
        finally:
            _current.reset(token)
            record.duration_ms = max(0, round(self.now_ms()) - record.started_ms)
        await self.sink.step_finished(record)

    async def announce(self, tool: str, content: str) -> None:
        """The running step calls a tool: told at once, while it works. content: one line for people."""
        if current := _current.get():
            await self.sink.tool_called(tool, content, current[1])

    async def choose_sources(self, sources: Sequence[Source]) -> None:
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
                reasons.setdefault(step.name, {})[step.detail.get("reason", "")] = None
        return [{"step": name, "reason": joined("; ", filter(None, told))} for name, told in reasons.items()]

    def usage(self) -> Usage:
        chats = [call for call in self.calls if call.kind == "chat"]
        # A step that was cancelled for a good first search was not waited for: its calls count, but as no round.
        given_up = {id(call) for step in self.steps if step.status == "skipped" for call in step.calls}
        first = self.first_token_ms
        return Usage(
            llm_calls=len(chats),
            llm_rounds=longest_chain([call for call in chats if id(call) not in given_up], until_ms=first),
            prompt_tokens=sum(call.prompt_tokens for call in chats),
            completion_tokens=sum(call.completion_tokens for call in chats),
            first_token_ms=None if first is None else round(first),
            total_ms=round(self.now_ms()),
        )


class HeldBackTrace(Trace):
    """A run's trace for an answer that is still to be judged: steps and model calls are the run's own and are told as
    they happen; text and sources do not reach the reader."""

    def __init__(self, run: Trace) -> None:
        super().__init__(run.sink, after=run.after)
        self.steps = run.steps
        self.calls = run.calls
        self._began = run._began

    async def choose_sources(self, sources: Sequence[Source]) -> None: ...

    async def emit_chunk(self, content: str) -> None: ...

    async def withdraw_chunks(self) -> None: ...


def longest_chain(calls: Sequence[ModelCall], *, until_ms: float | None = None) -> int:
    """The most calls that ran one after the other, counting those begun before `until_ms` (the first token).

    Calls that overlap are one round; so are those that were ready together and waited in a queue of ours. Greedy by
    earliest end, which is optimal for disjoint intervals.
    """
    spans = sorted(
        (
            call.ended_ms if call.ended_ms is not None else float("inf"),
            call.started_ms if call.asked_ms is None else call.asked_ms,
        )
        for call in calls
        if until_ms is None or call.started_ms <= until_ms
    )
    rounds = 0
    free_from = -1.0
    for ended, started in spans:
        if started >= free_from:
            rounds = rounds + 1
            free_from = ended
    return rounds


_current: ContextVar[tuple[Trace, StepRecord] | None] = ContextVar("retrieval_current_step", default=None)
_queued_ms: ContextVar[float | None] = ContextVar("retrieval_queued_ms", default=None)


def note(code: str, /, **detail: Any) -> None:
    """What came of the running step, see `StepRecord.note`; nothing where none runs."""
    if current := _current.get():
        current[1].note(code, **detail)


def running_entry() -> StepRecord:
    """The running step's entry. Raises LookupError where no step runs."""
    current = _current.get()
    if current is None:
        raise LookupError("no step is running")
    return current[1]


def skip(reason: str) -> None:
    """The running step has nothing to do, see `StepRecord.skip`."""
    if current := _current.get():
        current[1].skip(reason)


def degrade(reason: str) -> None:
    """The running step's fallback serves, see `StepRecord.degrade`."""
    if current := _current.get():
        current[1].degrade(reason)


def queue_model_call() -> None:
    """The next model call of this task is ready now and waits for its turn: waiting makes no round of its own."""
    if current := _current.get():
        _queued_ms.set(current[0].now_ms())


@contextmanager
def model_call(call: ModelCall) -> Iterator[ModelCall]:
    """Providers call a model within this: it is stamped and filed under the running step, if there is one."""
    current = _current.get()
    if current:
        trace, record = current
        call.started_ms = trace.now_ms()
        call.asked_ms = _queued_ms.get()
        _queued_ms.set(None)
        trace.calls.append(call)
        record.calls.append(call)
    call.error = worded("stopped by the caller")
    # Not made the current one: what calls a model may be a generator, whose steps run in contexts of others.
    span = TRACER.start_span(f"{call.kind} {call.model}", kind=SpanKind.CLIENT)
    try:
        yield call
        call.error = ""
    except ModelError as error:
        call.error = error.reason
        span.set_status(Status(StatusCode.ERROR))
        span.set_attribute("error.type", type(error).__name__)
        raise
    finally:
        _describe(span, call)
        span.end()
        if current:
            call.ended_ms = current[0].now_ms()


def _describe(span: Span, call: ModelCall) -> None:
    """By OpenTelemetry's conventions for generative AI."""
    if not span.is_recording():
        return
    operation = {"chat": "chat", "embed": "embeddings"}[call.kind]
    span.set_attributes(
        {
            "gen_ai.operation.name": operation,
            "gen_ai.request.model": call.model,
            "ragsite.prompt": call.prompt_name,
            "gen_ai.usage.input_tokens": call.prompt_tokens,
            "gen_ai.usage.output_tokens": call.completion_tokens,
        }
    )
    if call.prompt and os.environ.get(CAPTURE, "").lower() == "true":
        roles = (("system", call.prompt.system), ("user", call.prompt.user))
        messages = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in roles]
        span.set_attribute("gen_ai.input.messages", json.dumps(messages, ensure_ascii=False))


def note_index_wait(seconds: float) -> None:
    """The running step waited so long for the search index, which was being restarted; several waits add up."""
    if current := _current.get():
        detail = current[1].detail
        detail["waited_for_index_s"] = round(detail.get("waited_for_index_s", 0.0) + seconds, 2)
