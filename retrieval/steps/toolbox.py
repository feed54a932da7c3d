"""What the steps work with: protocols of `retrieval.ports` and the settings; tests pass small fakes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

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
from retrieval.search.boosting import AnswerRevision
from retrieval.steps.deadline import Deadline, FirstSearch
from retrieval.steps.deps import Deps, Prompts
from retrieval.text.answer_language import Language
from retrieval.trace import Trace

HEAD_START_S = 0.15  # given to the first search before calls that would improve on its words begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The parts that live as long as the engine."""

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

    @property
    def deps(self) -> Deps:
        """The same, for steps that are functions."""
        return Deps(
            settings=self.settings, models=self.models, prompts=self.prompts, searcher=self.searcher, store=self.store,
            documents=self.documents, boosts=self.boosts, reranker=self.reranker, web=self.web, memory=self.memory,
            curated=self.curated,
        )  # fmt: skip

    async def complete(
        self,
        role: Literal["answer", "fast"],
        name: str,
        schema: type[Schema],
        *,
        language: Language,
        model_name: str = "",
        **variables: object,
    ) -> Schema:
        """One structured call with the prompt of this name; `model_name`: by this model in place of the role's. Raises
        ModelError."""
        prompt = self.prompts.render(name, language=language, **variables)
        model = await self.models.chat(role, name=model_name)
        return await model.complete_json(prompt, schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The parts that live as long as one answer."""

    trace: Trace
    deadline: Deadline
    first_search: FirstSearch
    revision: AnswerRevision = field(default_factory=AnswerRevision)  # of users' ratings

    @classmethod
    def start(cls, trace: Trace, settings: RagSettings, *, timeout_s: float | None = None) -> Run:
        """`timeout_s`: of the whole answer; by default the corrective workflow's."""
        return cls(
            trace=trace,
            deadline=Deadline(timeout_s or settings.corrective.timeout_s),
            first_search=FirstSearch(HEAD_START_S),
        )
