"""What steps work with: the engine's parts, and what belongs to one answer. Tests pass small fakes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from ragsite.core.rag_settings import RagSettings
from retrieval.ports import (
    BoostSource,
    ChunkStore,
    CuratedAnswers,
    DocumentReader,
    MemoryStore,
    Models,
    Prompt,
    Reranker,
    Schema,
    Searcher,
    WebSearcher,
)
from retrieval.search.boosting import AnswerRevision
from retrieval.steps.deadline import Deadline
from retrieval.text.answer_language import Language
from retrieval.trace import Trace

UNLIMITED_S = 3600.0  # of steps that belong to no answer: commands, tests


class Prompts(Protocol):
    def render(self, name: str, *, language: str = "en", **variables: object) -> Prompt:
        """Raises PromptError, a ModelError: a broken prompt file makes the step fall back."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """The parts down to `curated` live as long as the engine, the others as long as one answer."""

    settings: RagSettings
    models: Models
    prompts: Prompts
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
        *,
        role: Literal["answer", "fast"] = "fast",
        model_name: str = "",
        **variables: object,
    ) -> Schema:
        """One structured call of a model with the prompt of this name, in the answer's language. model_name: by this
        model in place of the role's. Raises ModelError.
        """
        filled = self.prompts.render(prompt, language=self.language, **variables)
        model = await self.models.chat(role, name=model_name)
        return await model.complete_json(filled, schema)
