"""What several graphs have: nodes that answer without documents, the first search, and small decisions."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.runtime import Runtime

from retrieval.errors import ModelError
from retrieval.ports import SearchRequest, SearchResult
from retrieval.steps.answer import direct, no_answer
from retrieval.steps.answer.clarify import ask_back
from retrieval.steps.deps import Deps
from retrieval.steps.judge.scores import estimated
from retrieval.steps.query.condense import own_words
from retrieval.steps.query.small_talk import small_talk_kind
from retrieval.steps.retrieve.search import breadth, search_documents
from retrieval.values import Answer, Query, Question, ScoredChunk, SearchFilters
from retrieval.workflows.workflow import Asking

CLEAR_SCORE = 0.6  # a first search whose answerability is at or above it needs no better queries


# ------------------------------------------------------------------------------------------------ decisions
def is_small_talk(question: Question) -> bool:
    return small_talk_kind(question.text) is not None


def has_documents(question: Question) -> bool:
    return any(ref.space is not None for ref in question.scope.collections)


def may_ask_back(question: Question) -> bool:
    """Once: what comes after a question asked back is not asked back about again."""
    return question.open_clarification is None


async def has_model(deps: Deps) -> bool:
    try:
        await deps.models.chat("answer")
    except ModelError:
        return False
    return True


# ------------------------------------------------------------------------------------------------ search
async def search_for(
    deps: Deps, question: Question, queries: tuple[Query, ...], filters: SearchFilters, *, purpose: str = ""
) -> SearchResult:
    """As wide as the question asks for. Raises as `search_documents`."""
    request = SearchRequest(
        queries=queries, scope=question.scope, filters=filters, top_k=breadth(question, deps.settings)
    )
    return await search_documents(deps, request, purpose=purpose)


async def search_own_words(deps: Deps, question: Question) -> tuple[SearchResult, bool]:
    """The first search, and whether it is clearly good: then no model is asked for better words or another way."""
    result = await search_for(deps, question, own_words(question), question.filters, purpose="own_words")
    return result, await estimated(deps, question, result.candidates) >= CLEAR_SCORE


# ------------------------------------------------------------------------------------------------ answers
async def greet(state: Asking, runtime: Runtime[Deps]) -> Asking:
    """The reply to a greeting or to thanks."""
    return {"answer": await direct.greet(runtime.context, state["question"])}


async def clarify_from(deps: Deps, readings: Sequence[ScoredChunk]) -> Asking:
    return {"answer": await ask_back(deps, readings)}


async def refuse(
    deps: Deps, question: Question, candidates: Sequence[ScoredChunk] | None, *, reason: str = ""
) -> Answer:
    """Says why there is no answer, and quotes what is nearest. None: there was nothing to search in."""
    if candidates is None:
        async with deps.trace.step("retrieve") as entry:
            entry.skip("no_documents")
    return await no_answer.no_answer(deps, question, candidates, reason=reason)
