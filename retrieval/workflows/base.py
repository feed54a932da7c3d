"""What the workflows share: the context of their nodes, running a graph within its time, and the replies and decisions
in which they do not differ."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragsite.core.errors import UnavailableError
from ragsite.core.wording import worded
from retrieval.answerability import LIST_LENGTH
from retrieval.errors import IndexUnavailableError, ModelError
from retrieval.own_words import look_at
from retrieval.ports import SearchRequest, SearchResult
from retrieval.search import hybrid
from retrieval.steps.answer.clarify import bound_by_choice
from retrieval.steps.answer.curated import curated_answer
from retrieval.steps.answer.generate import Greet
from retrieval.steps.answer.no_answer import WHY, no_answer
from retrieval.steps.judge.evaluator import estimate_of
from retrieval.steps.query.condense import condense_without_model
from retrieval.steps.query.small_talk import small_talk_kind
from retrieval.steps.retrieve.retrieve import breadth, search_documents
from retrieval.steps.step import Context
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import answer_language
from retrieval.trace import Trace
from retrieval.values import Answer, Query, Question, ScoredChunk, SearchFilters
from retrieval.workflows.closing import close_path
from retrieval.workflows.documents import answer_from_documents

CLEAR_SCORE = 0.7  # a first search whose answerability is at or above it needs no better queries

RECURSION_LIMIT = 100  # of LangGraph: a guard against a graph that never ends, far above what any of ours can need


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Model rounds before an answer's first token: calls that wait for each other; those side by side are one.

    best: enough is found at once. worst: every way of improving is used up. notes: what makes the difference.
    """

    best: int
    worst: int
    notes: str = ""


class Asking(TypedDict, total=False):
    """What every graph begins with, and what it comes to."""

    question: Question  # the user's words: never rewritten, this is what is answered
    draft: str  # made self-contained without a model
    answer: Answer


class GraphWorkflow(ABC):
    """A workflow that runs its `graph`, which also feeds the picture on the page; `rounds` feeds docs/workflows.md."""

    graph: ClassVar[CompiledStateGraph[Any, Context, Any, Any]]
    rounds: ClassVar[Rounds]

    def __init__(self, tools: Toolbox) -> None:
        self.tools = tools

    @property
    @abstractmethod
    def timeout_s(self) -> float:
        """Of the whole answer."""

    async def answer(self, question: Question, *, trace: Trace) -> Answer:
        """Every step ends at the deadline by falling back; the outer limit is for what no step foresaw.

        Raises UnavailableError when even that is passed, or when there is no model and the site may not answer without
        one (RAG_OFFLINE=0); IndexUnavailableError when nothing can be searched. The path's last entry names the
        decision and its reason (`close_path`), or why none was come to.
        """
        tools = self.tools
        await require_model(tools)
        run = Run.start(trace, tools.settings, timeout_s=self.timeout_s)
        question = bound_by_choice(question)
        if question.options.web_search and tools.web is None:
            async with trace.step("web_search") as step:
                step.degrade(worded("asked for, but this site has no web search (RAG_WEB_SEARCH)"))
        try:
            async with asyncio.timeout(self.timeout_s + hybrid.SEARCH_TIMEOUT_S):
                chars = len(question.text) + sum(len(message.text) for message in question.history[-2:])
                draft = await look_at(chars, condense_without_model, question)
                words = draft if question.open_clarification else question.text
                language = answer_language(words, earlier=question.asked_before(), reader=question.language)
                context = Context(tools=tools, run=run, language=language)
                if question.task:
                    answer = await answer_from_documents(context.deps, question, question.task)
                else:
                    answer = await curated_answer(question, draft, context) or await self._work_out(
                        question, draft, context
                    )
        except TimeoutError as error:
            too_late = UnavailableError(worded("The answer took too long; try again, or ask a simpler question."))
            await close_path(trace, too_late)
            raise too_late from error
        except IndexUnavailableError as error:
            await close_path(trace, error)
            raise
        await close_path(trace, answer)
        return answer

    async def _work_out(self, question: Question, draft: str, context: Context) -> Answer:
        given: Asking = {"question": question, "draft": draft}
        state = await self.graph.ainvoke(given, {"recursion_limit": RECURSION_LIMIT}, context=context)
        answer: Answer = state["answer"]
        return answer


async def require_model(tools: Toolbox) -> None:
    if tools.settings.ollama.offline != "0":
        return
    try:
        await tools.models.chat("answer")
    except ModelError as error:
        raise UnavailableError(worded("The model server can't be used: {reason}.", reason=error.reason)) from error


async def has_model(tools: Toolbox) -> bool:
    try:
        await tools.models.chat("answer")
    except ModelError:
        return False
    return True


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


async def search_own_words(state: Asking, context: Context, filters: SearchFilters) -> SearchResult:
    """The first search, with the user's own words. It runs beside the calls that look for better words; when its
    result is clearly good, those calls are cancelled."""
    question, draft, settings, good = state["question"], state["draft"], context.tools.settings, False
    try:
        request = SearchRequest(
            queries=(Query(draft),), scope=question.scope, filters=filters, top_k=breadth(question, settings)
        )
        first = await search_documents(context, request, purpose=worded("own words: "))
        listed, semantic = first.candidates[:LIST_LENGTH], question.scope.semantic
        good = (await estimate_of(draft, listed, semantic=semantic)).answerability >= CLEAR_SCORE
        return first
    finally:
        context.run.first_search.finish(good=good)


# ------------------------------------------------------------------------------------------------ replies
async def greet(state: Asking, runtime: Runtime[Context]) -> Asking:
    """A node: the reply to a greeting or to thanks."""
    return {"answer": await small_talk_answer(state["question"], runtime.context)}


async def small_talk_answer(question: Question, context: Context) -> Answer:
    """For a question of which `is_small_talk` holds."""
    async with context.run.trace.step("retrieve") as step:
        step.skip(worded("a greeting needs no documents"))
    return await Greet(context)(question)


async def say_no_answer(
    context: Context, question: str, candidates: Sequence[ScoredChunk] | None, *, reason: str = ""
) -> Answer:
    """Says why there is no answer, and quotes what is nearest. None: there was nothing to search in. question:
    self-contained."""
    if candidates is None:
        async with context.run.trace.step("retrieve") as step:
            step.skip(WHY["no_documents"])
    return await no_answer(context, question, candidates, reason=reason)
