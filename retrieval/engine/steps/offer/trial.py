"""Trial: what a question would get, before anybody is offered it.

It is searched for as `corrective` begins, and the writing model is asked as it would be then; once it has begun an
answer it is left, and what it wrote is held against the passages. So a trial costs a prompt and some sixty tokens.
Nobody reads its path.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

from retrieval.engine.deps import Deps
from retrieval.engine.ports import ChatModel, Prompt, Schema, SearchRequest
from retrieval.engine.steps.answer.generate import answer_prompt, select_passages
from retrieval.engine.steps.answer.sources import as_sources, marked_cited
from retrieval.engine.steps.answer.streaming import AnswerWriter, author_of, write_by_model
from retrieval.engine.steps.context.dedupe import dedupe
from retrieval.engine.steps.grounding.claims import brackets_of
from retrieval.engine.steps.grounding.verify import verify
from retrieval.engine.steps.judge.rerank import rerank
from retrieval.engine.steps.query.named_filters import prefer_what_is_named
from retrieval.engine.steps.query.queries import initial_queries
from retrieval.engine.steps.retrieve.search import breadth, search_documents
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.values import Answer, AnswerSource, Question, ScoredChunk

BEGINNING_TOKENS = 60  # of an answer, by which it is judged
Outcome = Literal["answered", "nothing_found", "refused", "unsupported", "failed"]


@dataclass(frozen=True, slots=True)
class Trial:
    """sources: what the beginning of its answer cites; empty unless it is answered."""

    outcome: Outcome
    sources: tuple[AnswerSource, ...] = ()


async def try_question(deps: Deps, question: Question) -> Trial:
    """Raises IndexUnavailableError; never a ModelError. "failed": no model wrote, or it broke off at once."""
    async with deps.trace.step("generate"):
        passages = await _passages(deps, question)
        if not passages:
            return Trial("nothing_found")
        return await _written(deps, question, passages)


async def _passages(deps: Deps, question: Question) -> list[ScoredChunk]:
    question = await prefer_what_is_named(deps, question)
    request = SearchRequest(
        queries=initial_queries(question),
        scope=question.scope,
        filters=question.filters,
        top_k=breadth(question, deps.settings),
    )
    found = await search_documents(deps, request, purpose="own_words")
    candidates = await dedupe(deps, found.candidates)
    ranked = await rerank(deps, question, candidates)
    return await select_passages(
        deps, question, ranked, most=deps.settings.corrective.first_passages
    )


async def _written(deps: Deps, question: Question, passages: list[ScoredChunk]) -> Trial:
    author = await author_of(deps, lambda: answer_prompt(deps, question, (), "ask_back"))
    if author.model is None:
        return Trial("failed")
    sources = as_sources(passages)
    writer = AnswerWriter(deps, sources=sources, question=question.standalone, may_refuse=True)
    ended = await write_by_model(
        deps,
        replace(author, model=_Beginning(author.model)),
        lambda: answer_prompt(deps, question, passages, "ask_back"),
        writer,
    )
    if writer.verdict:
        return Trial("refused")
    if not writer.text:
        return Trial("failed")
    cited = brackets_of(sources).cited(writer.text)
    answer = Answer(
        decision="ANSWER",
        text=writer.text,
        sources=marked_cited(sources, cited),
        model=ended.model,
    )
    answer = await verify(deps, answer, question=question.standalone)
    if not _is_supported(answer):
        return Trial("unsupported")
    return Trial("answered", tuple(source for source in answer.sources if source.cited))


def _is_supported(answer: Answer) -> bool:
    """It cites, and most of what it states stands in what it cites."""
    if answer.decision != "ANSWER" or not any(source.cited for source in answer.sources):
        return False
    checked = [sentence.supported for sentence in answer.grounding]
    return checked.count(True) >= checked.count(False)


class _Beginning:
    """A writing model that is left once it has begun its answer: closing its stream stops it."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def prompt_budget(self) -> int:
        return self._model.prompt_budget

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | None, None]:
        written = ""
        async with aclosing(self._model.stream(prompt)) as pieces:
            async for piece in pieces:
                written = "" if piece is None else written + piece
                yield piece
                if estimate_tokens(written) >= BEGINNING_TOKENS:
                    return

    async def complete_json(self, prompt: Prompt, schema: type[Schema]) -> Schema:
        return await self._model.complete_json(prompt, schema)
