"""HyDE, hypothetical document embeddings: a passage that would answer the question is searched for by its vector.

Source: Gao et al., ACL 2023, arXiv:2212.10496; seed 003 §2.3.
"""

from __future__ import annotations

from ragsite.core.wording import worded
from retrieval.steps.schemas import HypotheticalPassage
from retrieval.steps.step import Asked, Step
from retrieval.trace import StepRecord
from retrieval.values import Query

PROMPT = "hyde"  # its file in retrieval/prompts


class Hyde(Step[Asked, tuple[Query, ...]]):
    """One vector-only query. Nothing when there is no model."""

    name = "hyde"
    optional = True

    async def act(self, given: Asked, entry: StepRecord) -> tuple[Query, ...]:
        asked = given.question.options.hyde
        if not (self.settings.hyde.enabled if asked is None else asked):
            entry.skip(worded("switched off"))
            return ()
        passage = await self.attempt(entry, self._ask_model(given), fallback=str, gives_way=True)
        entry.summary = entry.summary or passage[:120]
        entry.detail["passage"] = passage
        return (Query(passage, kind="hyde", vector_only=True),) if passage else ()

    async def _ask_model(self, given: Asked) -> str:
        history = self.history(given.question)
        reply = await self.complete(PROMPT, HypotheticalPassage, history=history, question=given.to_search)
        return " ".join(reply.hypothetical_passage.split())
