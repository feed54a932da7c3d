"""Seed 003's own order, one call after the other: what `corrective` is compared with.

condense → route → rewrite → HyDE → search → rerank, one call for each candidate → judge → generate. The same steps, the
same prompts, the same search; only nothing runs side by side, nothing gives way, and rerank and judge share no call.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from retrieval.ports import SearchRequest
from retrieval.steps.answer.generate import Generate
from retrieval.steps.judge import judge
from retrieval.steps.judge.judge import Judge
from retrieval.steps.query.condense import Condense, condense_without_model
from retrieval.steps.query.rewrite import Hyde, Rewrite
from retrieval.steps.query.route import Route
from retrieval.steps.retrieve.retrieve import Retrieve
from retrieval.steps.schemas import RetrievalJudgement
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language, answer_language
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
        language = answer_language(question.text)
        standalone = await Condense(self.tools).condense(question, draft, run=run, language=language)
        filters = await Route(self.tools).route(question, standalone, run=run)
        filters = await Route(self.tools).route_by_model(question, standalone, filters, run=run, language=language)
        variants = await Rewrite(self.tools).rewrite(question, standalone, run=run, language=language)
        imagined = await Hyde(self.tools).imagine(question, standalone, run=run, language=language)
        request = SearchRequest(
            queries=(Query(standalone), *variants, *imagined), scope=question.scope, filters=filters,
            top_k=self.tools.settings.rerank.max_candidates,
        )  # fmt: skip
        found = await Retrieve(self.tools).retrieve(request, run=run)
        ranked = [await self._rerank(standalone, candidate, run, language) for candidate in found.candidates]
        ranked.sort(key=lambda one: -(one.scores.rerank or 0.0))
        assessment = await Judge(self.tools).judge(
            standalone, ranked, run=run, language=language, semantic=question.scope.semantic
        )
        return await Generate(self.tools).generate(
            question, standalone, assessment.candidates, run=run, language=language
        )

    async def _rerank(self, question: str, candidate: ScoredChunk, run: Run, language: Language) -> ScoredChunk:
        """One passage in the prompt that `corrective` gives all of them in."""
        window = best_window(candidate.chunk.text, question, judge.SNIPPET_LENGTH)
        async with run.trace.step("rerank"):
            judged = await self.tools.complete(
                "fast",
                judge.PROMPT,
                RetrievalJudgement,
                language=language,
                passages=quote_passage(1, candidate.chunk, window, language),
                question=one_line(question),
            )
        score = judged.scores[0].score if judged.scores else 0.0
        return replace(candidate, scores=replace(candidate.scores, rerank=score))
