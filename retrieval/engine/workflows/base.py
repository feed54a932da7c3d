"""What a workflow is: a graph that is run within its time; and what several graphs share.

`await get_workflow("corrective").answer(question, engine=get_engine(), trace=trace)`
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from ragsite.core.errors import AppError, UnavailableError
from ragsite.core.messages import worded
from ragsite.core.rag_settings import RagSettings
from retrieval.engine.deps import Deps
from retrieval.engine.errors import IndexUnavailableError, ModelError
from retrieval.engine.path_details import AssessDetails
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.reasons import reason_of
from retrieval.engine.search.space_search import SEARCH_TIMEOUT_S
from retrieval.engine.steps.answer.continuation import PartialAnswer, write_rest
from retrieval.engine.steps.answer.curated import curated_answer
from retrieval.engine.steps.answer.direct import reply_without_search
from retrieval.engine.steps.grounding.second_look import second_look
from retrieval.engine.steps.grounding.verify import verify
from retrieval.engine.steps.judge.scores import judging_is_on
from retrieval.engine.steps.query.named_filters import prefer_what_is_named
from retrieval.engine.steps.query.route import fold
from retrieval.engine.steps.retrieve.search import breadth, search_documents
from retrieval.engine.text.phrases import Language, answer_language
from retrieval.engine.trace import Trace
from retrieval.engine.values import Answer, Query, Question, SearchFilters
from retrieval.engine.workflows.documents import answer_from_documents

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


RECURSION_LIMIT = 100  # of LangGraph: a guard against a graph that never ends, far above what any of ours can need


class WorkflowState(TypedDict, total=False):
    """What every graph begins with, and what it comes to."""

    question: Question  # `text` is what is answered; a model may add to it what it leaves out
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A graph, which also feeds the picture on the page. timeout_s: of an answer. routes_itself: a model says in it
    whether documents are needed, before any search. looks_itself: the second look is a part of it."""

    graph: CompiledStateGraph[Any, Deps, Any, Any]
    timeout_s: Callable[[RagSettings], float] = lambda settings: settings.corrective.timeout_s
    routes_itself: bool = False
    looks_itself: bool = False

    async def answer(self, question: Question, *, engine: Deps, trace: Trace) -> Answer:
        """Every step ends at the deadline by falling back; the outer limit is for what no step foresaw.

        Raises UnavailableError when even that is passed, or when there is no model and the site may not answer without
        one (RAG_OFFLINE=0); IndexUnavailableError when nothing can be searched. The path's last entry names the
        decision and its reason, or why none was come to.
        """
        if engine.settings.ollama.offline == "0":
            await require_model(engine, worded("The model server can't be used: {reason}."))
        timeout_s = self.timeout_s(engine.settings)
        question = apply_clarification_choice(question)
        deps = engine.for_answer(
            trace,
            timeout_s=timeout_s,
            language=language_of(question),
            asker_id=question.asker_id,
            instructions=question.instructions,
        )
        try:
            async with asyncio.timeout(timeout_s + SEARCH_TIMEOUT_S):
                answer = await self._answer(deps, question)
        except TimeoutError as error:
            too_late = UnavailableError(
                worded("The answer took too long; try again, or ask a simpler question.")
            )
            await close_path(trace, too_late)
            raise too_late from error
        except IndexUnavailableError as error:
            await close_path(trace, error)
            raise
        await close_path(trace, answer)
        return answer

    async def _answer(self, deps: Deps, question: Question) -> Answer:
        if question.options.web_search and deps.web is None:
            deps.progress.web = "web_away"
            async with deps.trace.step("web_search") as entry:
                entry.degrade("no_web_search")
        if question.task:
            return await answer_from_documents(deps, question, question.task)
        if checked := await curated_answer(deps, question):
            return checked
        question = await prefer_what_is_named(deps, question)
        if reply := await reply_without_search(deps, question, asks_model=not self.routes_itself):
            return reply
        state = await self.graph.ainvoke(
            {"question": question},
            {"recursion_limit": RECURSION_LIMIT},
            context=deps,
        )
        answer: Answer = state["answer"]
        if self.looks_itself:
            return answer
        asked: Question = state["question"]
        return await _looked_at(deps, answer, asked, question=asked.standalone)


async def continue_answer(begun: PartialAnswer, *, engine: Deps, trace: Trace) -> Answer:
    """Go on with an answer that was cut or broke off: writing and checking alone, from the same passages.

    The whole answer; its text begins with what was there. Never raises a ModelError.
    """
    timeout_s = engine.settings.corrective.timeout_s
    language = language_of(begun.question)
    deps = engine.for_answer(
        trace,
        timeout_s=timeout_s,
        language=language,
        instructions=begun.question.instructions,
    )
    answer = await verify(deps, await write_rest(deps, begun), question=begun.question.text)
    answer = await _looked_at(deps, answer, begun.question, question=begun.question.text)
    await close_path(trace, answer)
    return answer


async def _looked_at(deps: Deps, answer: Answer, asked: Question, *, question: str) -> Answer:
    """Not a quick answer, nor one from whole documents: a few passages say little about what these leave out."""
    if asked.task or not judging_is_on(asked):
        return answer
    return await second_look(deps, answer, question=question)


async def require_writer(deps: Deps) -> None:
    """Raises UnavailableError where no model can go on: no rule can."""
    await require_model(
        deps,
        worded("An answer is continued by a model, and none can be used now: {reason}."),
    )


async def require_model(deps: Deps, message: str) -> None:
    """Raises UnavailableError with this message and the `{reason}`, where no model can write."""
    try:
        await deps.models.chat("answer")
    except ModelError as error:
        raise UnavailableError(worded(message, reason=error.reason)) from error


def apply_clarification_choice(question: Question) -> Question:
    """Where the message chooses an option of the question asked back: the original question in its own words alone,
    with the option's document as a strict filter. Any other message is one of the conversation."""
    opened = question.open_clarification
    if opened is None:
        return question
    reply = fold(question.text)
    clarification = opened.clarification
    chosen: set[str] = set()
    for option, document in zip(clarification.options, clarification.documents, strict=False):
        if fold(option) == reply:
            chosen.add(document)
    if not chosen:
        return question
    about = opened.question.strip()
    return replace(
        question,
        text=about,
        condensed=about,
        filters=replace(question.filters, documents=tuple(sorted(chosen))),
    )


def language_of(question: Question) -> Language:
    return answer_language(
        question.standalone,
        earlier=question.earlier_questions(),
        reader=question.language,
    )


async def close_path(trace: Trace, outcome: Answer | AppError) -> None:
    """The last entry of every decision path: an `assess` whose detail has `decision` (ANSWER, CLARIFY or NO_ANSWER) and
    `reason`. Where there is an error instead of an answer, no decision, and the entry has failed."""
    async with trace.step("assess") as entry:
        if isinstance(outcome, AppError):
            entry.status = "failed"
            entry.note("not_decided", reason=reason_of(outcome))
            return
        found = "this_was_found" if outcome.sources else "no_documents_needed"
        entry.note(
            "decided",
            AssessDetails(decision=outcome.decision),
            reason=outcome.reason or found,
        )


def has_documents(question: Question) -> bool:
    return any(ref.space is not None for ref in question.scope.collections)


def may_ask_back(question: Question) -> bool:
    """Once: what comes after a question asked back is not asked back about again."""
    return question.open_clarification is None


async def search_for(
    deps: Deps,
    question: Question,
    queries: tuple[Query, ...],
    filters: SearchFilters,
    *,
    purpose: str = "",
) -> SearchResult:
    """As wide as the question asks for. Raises as `search_documents`."""
    request = SearchRequest(
        queries=queries,
        scope=question.scope,
        filters=filters,
        top_k=breadth(question, deps.settings),
    )
    return await search_documents(deps, request, purpose=purpose)
