"""What a workflow is, how its graph is run within its time, and how every decision path ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from ragsite.core.errors import AppError, UnavailableError
from ragsite.core.rag_settings import RagSettings
from ragsite.core.wording import worded
from retrieval.errors import IndexUnavailableError, ModelError
from retrieval.path_texts import reason_text
from retrieval.search.hybrid import SEARCH_TIMEOUT_S
from retrieval.steps.answer.clarify import bound_by_choice
from retrieval.steps.answer.curated import curated_answer
from retrieval.steps.deps import Deps
from retrieval.steps.query.route import prefer_named_year
from retrieval.steps.query.small_talk import small_talk_kind
from retrieval.text.answer_language import Language, answer_language
from retrieval.trace import Trace
from retrieval.values import Answer, Question
from retrieval.workflows.documents import answer_from_documents

if TYPE_CHECKING:  # it takes longer than all else together, and every process of a site loads this file
    from langgraph.graph.state import CompiledStateGraph

REPLY_CHARS = 80  # of a reply to a question asked back, in words of one's own
RECURSION_LIMIT = 100  # of LangGraph: a guard against a graph that never ends, far above what any of ours can need


class Asking(TypedDict, total=False):
    """What every graph begins with, and what it comes to."""

    question: Question  # `text` is what is answered; a model may add to it what it leaves out
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Model rounds before an answer's first token: calls that wait for each other; those side by side are one.

    best: enough is found at once. worst: every way of improving is used up. notes: what makes the difference.
    """

    best: int
    worst: int
    notes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A graph, which also feeds the picture on the page. about: its module's docstring. timeout_s: of an answer."""

    graph: CompiledStateGraph[Any, Deps, Any, Any]
    rounds: Rounds
    about: str
    timeout_s: Callable[[RagSettings], float] = lambda settings: settings.corrective.timeout_s

    async def answer(self, question: Question, *, engine: Deps, trace: Trace) -> Answer:
        """Every step ends at the deadline by falling back; the outer limit is for what no step foresaw.

        Raises UnavailableError when even that is passed, or when there is no model and the site may not answer without
        one (RAG_OFFLINE=0); IndexUnavailableError when nothing can be searched. The path's last entry names the
        decision and its reason, or why none was come to.
        """
        if engine.settings.ollama.offline == "0":
            await require_model(engine, worded("The model server can't be used: {reason}."))
        timeout_s = self.timeout_s(engine.settings)
        question = with_choice(question)
        deps = engine.for_answer(trace, timeout_s=timeout_s, language=language_of(question))
        try:
            async with asyncio.timeout(timeout_s + SEARCH_TIMEOUT_S):
                answer = await self._answer(deps, question)
        except TimeoutError as error:
            too_late = UnavailableError(worded("The answer took too long; try again, or ask a simpler question."))
            await close_path(trace, too_late)
            raise too_late from error
        except IndexUnavailableError as error:
            await close_path(trace, error)
            raise
        await close_path(trace, answer)
        return answer

    async def _answer(self, deps: Deps, question: Question) -> Answer:
        if question.options.web_search and deps.web is None:
            async with deps.trace.step("web_search") as entry:
                entry.degrade("no_web_search")
        if question.task:
            return await answer_from_documents(deps, question, question.task)
        if ready := await curated_answer(deps, question):
            return ready
        question = await prefer_named_year(deps, question)
        state = await self.graph.ainvoke({"question": question}, {"recursion_limit": RECURSION_LIMIT}, context=deps)
        answer: Answer = state["answer"]
        return answer


def with_choice(question: Question) -> Question:
    """After a question asked back: the reply together with the question that it was about. An option that was chosen
    binds the search to its documents; any other short message that is no question is a reply, too."""
    opened = question.open_clarification
    if opened is None or small_talk_kind(question.text):
        return question
    bound, text = bound_by_choice(question), question.text.strip()
    replies = bound is not question or (len(text) <= REPLY_CHARS and not text.endswith(("?", "？")))
    return replace(bound, condensed=f"{opened.question.strip()} ({text})") if replies else question


def language_of(question: Question) -> Language:
    return answer_language(question.standalone, earlier=question.asked_before(), reader=question.language)


async def require_model(deps: Deps, message: str) -> None:
    """Raises UnavailableError with this message and the `{reason}`, where no model can write."""
    try:
        await deps.models.chat("answer")
    except ModelError as error:
        raise UnavailableError(worded(message, reason=error.reason)) from error


async def close_path(trace: Trace, outcome: Answer | AppError) -> None:
    """The last entry of every decision path: an `assess` whose detail has `decision` (ANSWER, CLARIFY or NO_ANSWER) and
    `reason`. Where there is an error instead of an answer, no decision, and the entry has failed. A workflow that has
    written such an entry last has closed the path itself."""
    if trace.steps and trace.steps[-1].name == "assess" and "decision" in trace.steps[-1].detail:
        return
    async with trace.step("assess") as entry:
        if isinstance(outcome, AppError):
            entry.status = "failed"
            entry.note("not_decided", reason=outcome.message)
            return
        reason = outcome.reason or ("this_was_found" if outcome.sources else "no_documents_needed")
        entry.note("decided", decision=outcome.decision, reason=reason_text(reason))
