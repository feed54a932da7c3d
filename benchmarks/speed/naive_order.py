"""Seed 003's own order, one call after the other: what `corrective` is compared with.

condense → route → rewrite → HyDE → search → rerank, one call for each candidate → judge → generate. The same steps, the
same prompts, the same search; only nothing runs side by side, nothing gives way, and rerank and judge share no call.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from retrieval.ports import SearchRequest
from retrieval.steps.answer.generate import write_answer
from retrieval.steps.judge import evaluator, judge
from retrieval.steps.query.condense import Condense, condense_without_model
from retrieval.steps.query.hyde import hyde
from retrieval.steps.query.query_rewriter import Rewrite, Wanted
from retrieval.steps.query.route import Route, filters_by_model
from retrieval.steps.retrieve.retrieve import search_documents
from retrieval.steps.schemas import judgement_of
from retrieval.steps.step import Asked, Context
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import answer_language
from retrieval.text.quoting import one_line, quote_passage
from retrieval.text.snippet import best_window
from retrieval.trace import Trace
from retrieval.values import Answer, Query, Question, ScoredChunk


@dataclass(frozen=True, slots=True)
class NaiveOrder:
    """A workflow like the others, without a graph."""

    tools: Toolbox

    async def answer(self, question: Question, *, trace: Trace) -> Answer:
        run = Run.start(trace, self.tools.settings)
        run.first_search.finish(good=False)  # there is none: nothing gives way to it
        draft = await asyncio.to_thread(condense_without_model, question)
        context = Context(tools=self.tools, run=run, language=answer_language(question.text))
        standalone = await Condense(context)(Asked(question, draft))
        asked = Asked(question, standalone)
        filters = await filters_by_model(context, asked, await Route(context)(asked))
        variants = await Rewrite(context)(Wanted(asked=asked, tried=(standalone,)))
        imagined = await hyde(context.deps, asked.condensed)
        request = SearchRequest(
            queries=(Query(standalone), *variants, *imagined), scope=question.scope, filters=filters,
            top_k=self.tools.settings.rerank.max_candidates,
        )  # fmt: skip
        found = await search_documents(context, request)
        ranked = [await self._rerank(context, standalone, candidate) for candidate in found.candidates]
        ranked.sort(key=lambda candidate: -(candidate.scores.rerank or 0.0))
        retrieved = judge.Retrieved(question=standalone, passages=ranked, semantic=question.scope.semantic, insist=True)
        assessment = await judge.judge(context, retrieved)
        return await write_answer(context, asked, assessment.candidates)

    async def _rerank(self, context: Context, question: str, candidate: ScoredChunk) -> ScoredChunk:
        """One passage in the prompt that `corrective` gives all of them in."""
        window = best_window(candidate.chunk.text, question, evaluator.SNIPPET_LENGTH)
        async with context.run.trace.step("rerank"):
            judged = await self.tools.complete(
                "fast",
                judge.PROMPT,
                judgement_of(1),
                language=context.language,
                count=1,
                passages=quote_passage(1, candidate.chunk, window, context.language),
                question=one_line(question),
            )
        return replace(candidate, scores=replace(candidate.scores, rerank=float(judged.says_yes)))
