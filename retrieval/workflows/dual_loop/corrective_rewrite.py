"""Corrective rewrite: other queries after an answer was rejected, aimed at what it lacked.

Source: seed 001, `rewrite_query` in its corrective mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.steps.query import rewrite
from retrieval.steps.query.rewrite import distinct
from retrieval.steps.query.transform import broader_queries
from retrieval.steps.retrieve.refine import with_missing
from retrieval.steps.schemas import CorrectedQueries
from retrieval.steps.step import attempt
from retrieval.steps.toolbox import Run, Toolbox
from retrieval.text.answer_language import Language
from retrieval.text.quoting import neutralise, one_line
from retrieval.values import Query

PROMPT = "corrective_rewrite"  # its file in retrieval/prompts

ANSWER_CHARS = 1200


@dataclass(frozen=True, slots=True)
class CorrectiveRewrite:
    tools: Toolbox

    async def rewrite(
        self, standalone: str, rejected: str, missing: str, tried: Sequence[Query], *, run: Run, language: Language
    ) -> tuple[Query, ...]:
        """New queries, none of those that were tried. `missing`: what the grader found the answer to lack.

        Without a model: what is missing, the question without filler words, its parts or the broader one behind it.
        """
        async with run.trace.step("rewrite") as step:
            texts = await attempt(
                step,
                self._ask_model(standalone, rejected, missing, tried, language),
                fallback=lambda: without_model(standalone, missing),
                timeout_s=run.deadline.limit(self.tools.settings.ollama.structured_timeout_s),
            )
            known = {query.text.casefold() for query in tried}
            fresh = [text for text in distinct(texts, other_than=standalone) if text.casefold() not in known]
            queries = tuple(Query(text, kind="rewrite") for text in fresh[: rewrite.VARIANTS])
            step.detail |= {"queries": [query.text for query in queries], "missing": missing, "corrective": True}
            step.summary = "corrective: " + ("; ".join(query.text for query in queries) or "no other wording")
            return queries

    async def _ask_model(
        self, standalone: str, rejected: str, missing: str, tried: Sequence[Query], language: Language
    ) -> list[str]:
        result = await self.tools.complete(
            "fast",
            PROMPT,
            CorrectedQueries,
            language=language,
            answer=neutralise(rejected)[:ANSWER_CHARS],
            missing=one_line(missing) or "-",
            tried="; ".join(one_line(query.text) for query in tried),
            variants=rewrite.VARIANTS,
            question=one_line(standalone),
        )
        return result.queries


def without_model(standalone: str, missing: str) -> list[str]:
    widened = (*with_missing((Query(standalone),), missing)[1:], *broader_queries(standalone))
    return [query.text for query in widened]
