"""Step-back and decompose: a broader question beside a very specific one, simpler ones in place of a compound one.

Source: seed 002, query transformation (step-back, 2-4 sub-queries whose results are pooled); Zheng et al., "Take a Step
Back", ICLR 2024. At most one of the two serves a question, and none where the first search was clearly good.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from retrieval.steps.query.question_parts import (
    Transformation,
    choose_transformation,
    split_question,
    step_back_without_model,
)
from retrieval.steps.query.rewrite import distinct
from retrieval.steps.schemas import StepBackQuery, SubQueries
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import quote_history
from retrieval.values import Query, Question

STEP_BACK_PROMPT = "step_back"  # its file in retrieval/prompts
SUB_QUERIES = 4  # parts at most
DECOMPOSE_PROMPT = "decompose"  # its file in retrieval/prompts


@dataclass(frozen=True, slots=True)
class Transform:
    tools: Toolbox

    async def transform(self, question: Question, draft: str, *, run: Run, language: Language) -> tuple[Query, ...]:
        """Queries of the transformation that fits the question; none, without an entry in the path, when none does."""
        chosen = await asyncio.to_thread(choose_transformation, draft)
        if chosen is None or not self._enabled(chosen, question):
            return ()
        return await self.apply(chosen, question, draft, run=run, language=language)

    async def apply(
        self, chosen: Transformation, question: Question, draft: str, *, run: Run, language: Language
    ) -> tuple[Query, ...]:
        """Queries of this transformation, whether or not it is the one that fits best."""
        ask = self._sub_queries if chosen == "decompose" else self._step_back
        async with run.trace.step(chosen) as step:
            texts = await attempt(
                step,
                ask(question, draft, language),
                fallback=lambda: without_model(chosen, draft),
                timeout_s=run.deadline.limit(self.tools.settings.ollama.structured_timeout_s),
                first_search=run.first_search,
            )
            if step.status == "skipped":
                return ()
            queries = as_queries(chosen, texts, draft, most=SUB_QUERIES)
            step.detail["queries"] = [query.text for query in queries]
            step.summary = "; ".join(query.text for query in queries) or "nothing to add"
            return queries

    def _enabled(self, chosen: Transformation, question: Question) -> bool:
        """A request that wants no rewriting wants none of these either."""
        settings = self.tools.settings
        switched_on = settings.decompose.enabled if chosen == "decompose" else settings.step_back.enabled
        return switched_on and question.options.rewrite is not False

    async def _step_back(self, question: Question, draft: str, language: Language) -> list[str]:
        result = await self.tools.complete(
            "fast", STEP_BACK_PROMPT, StepBackQuery, language=language, history=self._history(question), question=draft
        )
        return [result.step_back_query]

    async def _sub_queries(self, question: Question, draft: str, language: Language) -> list[str]:
        result = await self.tools.complete(
            "fast",
            DECOMPOSE_PROMPT,
            SubQueries,
            language=language,
            history=self._history(question),
            question=draft,
            sub_queries=SUB_QUERIES,
        )
        return result.sub_queries

    def _history(self, question: Question) -> str:
        return quote_history(question.history)


def without_model(chosen: Transformation, question: str) -> list[str]:
    return split_question(question) if chosen == "decompose" else [step_back_without_model(question)]


def as_queries(chosen: Transformation, texts: list[str], draft: str, *, most: int) -> tuple[Query, ...]:
    """Cleaned and each once; a single sub-query is no decomposition."""
    cleaned = distinct(texts, other_than=draft)
    if chosen == "step_back":
        return tuple(Query(text, kind="step_back") for text in cleaned[:1])
    return tuple(Query(text, kind="sub_query") for text in cleaned[:most]) if len(cleaned) > 1 else ()


def broader_queries(question: str) -> tuple[Query, ...]:
    """For the corrective search, which has no model call to spend: the parts of a compound question, else the broader
    one behind it."""
    parts = as_queries("decompose", split_question(question), question, most=4)
    return parts or as_queries("step_back", [step_back_without_model(question)], question, most=1)
