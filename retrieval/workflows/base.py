"""What the workflows share: the context of their nodes, running a graph within its time, and the replies and decisions
in which they do not differ."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from ragsite.core.errors import UnavailableError
from ragsite.core.rag_settings import CorrectiveSettings
from retrieval.errors import ModelError
from retrieval.search import hybrid
from retrieval.steps.answer.clarify import Clarify, open_readings
from retrieval.steps.answer.generate import AnswerWriter, Generate
from retrieval.steps.judge.judge import Assessment
from retrieval.steps.query.condense import chooses, takes_up
from retrieval.steps.query.small_talk import small_talk_kind
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.trace import Trace
from retrieval.values import Answer, Query, Question, ScoredChunk, SearchFilters

CLEAR_SCORE = 0.7  # a first search that the trained grader puts at or above it needs no better queries

RECURSION_LIMIT = 100  # of LangGraph: a guard against a graph that never ends, far above what any of ours can need


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Model rounds before an answer's first token: calls that wait for each other; those side by side are one.

    best: enough is found at once. worst: every way of improving is used up. notes: what makes the difference.
    """

    best: int
    worst: int
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """`tools` live as long as the engine, `run` as long as this answer."""

    tools: Toolbox
    run: Run


async def run_graph(
    graph: CompiledStateGraph[Any, Context, Any, Any],
    question: Question,
    *,
    tools: Toolbox,
    trace: Trace,
    timeout_s: float,
) -> Answer:
    """Run the graph on `{"question": question}`; its last state holds the `answer`.

    Every step ends at the workflow's deadline by falling back; the outer limit is for what no step foresaw.
    Raises UnavailableError when even that is passed, or when there is no model and the site may not answer without one
    (RAG_OFFLINE=0); IndexUnavailableError when nothing can be searched.
    """
    await require_model(tools)
    context = Context(tools=tools, run=Run.start(trace, tools.settings, timeout_s=timeout_s))
    if question.options.web_search and tools.web is None:
        async with trace.step("web_search") as step:
            step.degrade("asked for, but this site has no web search (RAG_WEB_SEARCH)")
    try:
        async with asyncio.timeout(timeout_s + hybrid.SEARCH_TIMEOUT_S):
            state = await graph.ainvoke({"question": question}, {"recursion_limit": RECURSION_LIMIT}, context=context)
    except TimeoutError as error:
        raise UnavailableError("The answer took too long; try again, or ask a simpler question.") from error
    answer: Answer = state["answer"]
    return answer


async def require_model(tools: Toolbox) -> None:
    if tools.settings.ollama.offline != "0":
        return
    try:
        await tools.models.chat("answer")
    except ModelError as error:
        raise UnavailableError(f"The model server can't be used: {error.reason}.") from error


def is_small_talk(question: Question) -> bool:
    """A greeting or thanks; also where a question was asked back: that is no reply to it."""
    return small_talk_kind(question.text) is not None


def has_documents(question: Question) -> bool:
    return any(ref.space is not None for ref in question.scope.collections)


def reranking_is_on(question: Question, tools: Toolbox) -> bool:
    asked = question.options.rerank
    return tools.settings.rerank.enabled if asked is None else asked


def distinct_queries(queries: Sequence[Query]) -> tuple[Query, ...]:
    """Each text once; the first one with it stays."""
    kept: dict[str, Query] = {}
    for query in queries:
        kept.setdefault(" ".join(query.text.casefold().split()), query)
    return tuple(kept.values())


async def say(text: str, run: Run) -> str:
    """A sentence of the site's own, as the answer's only chunk."""
    writer = AnswerWriter(run.trace, passages=0)
    await writer.write(text)
    await writer.finish()
    return writer.text


# ------------------------------------------------------------------------------------------------ replies
async def small_talk_answer(question: Question, context: Context, language: Language) -> Answer:
    """For a question of which `is_small_talk` holds."""
    async with context.run.trace.step("retrieve") as step:
        step.skip("a greeting needs no documents")
    kind = small_talk_kind(question.text) or "small_talk"
    return await Generate(context.tools).greet(question, kind, run=context.run, language=language)


async def ask_back(
    assessment: Assessment, readings: Sequence[ScoredChunk], context: Context, language: Language
) -> Answer:
    """The question in place of an answer. `readings`: see `Clarify`."""
    asked = await Clarify().clarify(assessment, readings, run=context.run, language=language)
    text = await say(asked.question, context.run)
    return Answer(decision="CLARIFY", text=text, clarification=asked, reason=assessment.reason)


# ------------------------------------------------------------------------------------------------ decisions
def is_worth_a_try(assessment: Assessment, numbers: CorrectiveSettings) -> bool:
    """Neither good nor weak, or the model and the model-free grader contradict each other: the writing model, told to
    say so when the passages don't answer, has the last word."""
    if not assessment.refused and assessment.worth >= numbers.weak_score:
        return True
    return assessment.holds_answer >= CLEAR_SCORE


def was_offered(question: Question, assessment: Assessment) -> bool:
    """The user chose one of the options that were asked about: what was offered is not denied afterwards, unless a
    model has looked and refused."""
    opened = question.open_clarification
    chosen = opened is not None and chooses(question.text, opened)
    return chosen and bool(assessment.candidates) and not assessment.refused


async def readings_to_ask_about(
    assessment: Assessment, standalone: str, filters: SearchFilters, *, question: Question, context: Context
) -> tuple[ScoredChunk, ...]:
    """For a workflow that answers for every reading of a question: what it asks back about where no model writes, since
    quoted sentences can't say for which reading each of them holds. See `open_readings`; none where nothing that was
    found is worth asking about, or it was asked back before."""
    weak = assessment.refused or assessment.worth < context.tools.settings.corrective.weak_score
    if weak or takes_up(standalone, question.open_clarification) or await _has_writer(context):
        return ()
    return await asyncio.to_thread(open_readings, assessment, standalone, filters)


async def _has_writer(context: Context) -> bool:
    try:
        async with asyncio.timeout(context.run.deadline.remaining()):
            await context.tools.models.chat("answer")
    except (ModelError, TimeoutError):
        return False
    return True
