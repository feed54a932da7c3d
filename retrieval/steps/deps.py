"""What steps work with: the engine's parts, and what belongs to one answer. Tests pass small fakes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from ragsite.core.rag_settings import RagSettings
from retrieval.ports import (
    BoostSource,
    ChunkStore,
    CuratedAnswers,
    DocumentReader,
    MemoryStore,
    Models,
    Reranker,
    Schema,
    Searcher,
    WebSearcher,
)
from retrieval.prompting import PromptLibrary
from retrieval.search.boosting import AnswerRevision
from retrieval.text.answer_language import Language
from retrieval.trace import Trace

KEPT_FOR_WRITING = 0.3  # of the whole time, until the writing has begun
NEEDED_SHARE, OPTIONAL_SHARE = 0.6, 0.25  # of what is left besides, for one step
UNLIMITED_S = 3600.0  # of steps that belong to no answer: commands, tests


class Deadline:
    """The moment by which the whole answer should stand; every step's own limit ends there too."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._ends - time.monotonic())

    def limit(self, seconds: float) -> float:
        return min(seconds, self.remaining())

    def share(self, seconds: float, *, optional: bool, writing: bool) -> float:
        """Seconds for one step's model call. What only improves an answer gets less, and falls away first.

        writing: the answer's own text has been begun, so that no time is kept for it any more; what is needed may take
        all that is left.
        """
        if writing:
            return min(seconds, self.remaining() * (OPTIONAL_SHARE if optional else 1.0))
        left = self.remaining() - KEPT_FOR_WRITING * self._seconds
        return max(0.0, min(seconds, left * (OPTIONAL_SHARE if optional else NEEDED_SHARE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """The parts down to `curated` live as long as the engine, the others as long as one answer."""

    settings: RagSettings
    models: Models
    prompts: PromptLibrary
    searcher: Searcher
    store: ChunkStore
    documents: DocumentReader | None = None  # None: whole documents are not read, nor neighbours of passages
    boosts: BoostSource | None = None
    reranker: Reranker | None = None
    web: WebSearcher | None = None  # None: no web search is configured
    memory: MemoryStore | None = None  # None: nothing is remembered from one answer to the next
    curated: CuratedAnswers | None = None  # None: nobody has written answers beforehand
    trace: Trace = field(default_factory=Trace)
    deadline: Deadline = field(default_factory=lambda: Deadline(UNLIMITED_S))
    revision: AnswerRevision = field(default_factory=AnswerRevision)  # of users' ratings
    language: Language = "en"  # to answer in

    def for_answer(self, trace: Trace, *, timeout_s: float, language: Language = "en") -> Deps:
        """The same parts for one answer; timeout_s: of the whole answer."""
        return replace(self, trace=trace, deadline=Deadline(timeout_s), revision=AnswerRevision(), language=language)

    async def complete(
        self,
        prompt: str,
        schema: type[Schema],
        **variables: object,
    ) -> Schema:
        """One structured call of the fast model with the prompt of this name, in the answer's language.

        Raises ModelError.
        """
        filled = self.prompts.render(prompt, language=self.language, **variables)
        model = await self.models.chat("fast")
        return await model.complete_json(filled, schema)
