"""The engine's parts, and what belongs to one answer: what every step and workflow is given."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from ragsite.core.rag_settings import RagSettings
from retrieval.engine.ports import (
    BoostSource,
    ChunkStore,
    CuratedAnswers,
    DocumentCounter,
    DocumentReader,
    MemoryStore,
    Models,
    Prompt,
    Schema,
    SearchCache,
    Searcher,
    WebSearcher,
)
from retrieval.engine.prompting import PromptLibrary
from retrieval.engine.providers.rerank_http import HttpReranker
from retrieval.engine.search.cached import CachedSearcher
from retrieval.engine.text.phrases import Language, phrase
from retrieval.engine.text.quoting import neutralise
from retrieval.engine.trace import Trace

WRITING_SHARE = 0.3  # of the whole time, until the writing has begun
# Of the time that is left besides, for one step.
NEEDED_SHARE = 0.6
OPTIONAL_SHARE = 0.25
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
        left = self.remaining() - WRITING_SHARE * self._seconds
        return max(0.0, min(seconds, left * (OPTIONAL_SHARE if optional else NEEDED_SHARE)))


@dataclass(slots=True, kw_only=True)
class Progress:
    """What has happened in one answer that later steps go by; the trace is written, and never read.

    writing: its text has been begun. judged_by: the model that has last said of what was found whether it answers.
    web: whether it was searched, or was to be and could not.
    """

    writing: bool = False
    judged_by: str = ""
    web: Literal["", "web_searched", "web_away"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """The parts down to `say` live as long as the engine, the others as long as one answer."""

    settings: RagSettings
    models: Models
    prompts: PromptLibrary
    searcher: Searcher
    store: ChunkStore
    documents: DocumentReader | None = (
        None  # None: whole documents are not read, nor neighbours of passages
    )
    counter: DocumentCounter | None = None  # None: nothing is counted over all documents
    boosts: BoostSource | None = None
    reranker: HttpReranker | None = None
    web: WebSearcher | None = None  # None: no web search is configured
    memory: MemoryStore | None = None  # None: nothing is remembered from one answer to the next
    curated: CuratedAnswers | None = None  # None: nobody has written answers beforehand
    search_cache: SearchCache | None = None  # None: every search runs again
    say: Callable[[str, Language], str] = lambda sentence, language: str(
        sentence
    )  # the site's own, in a language
    trace: Trace = field(default_factory=Trace)
    deadline: Deadline = field(default_factory=lambda: Deadline(UNLIMITED_S))
    progress: Progress = field(default_factory=Progress)
    language: Language = "en"  # to answer in
    instructions: str = ""  # of the assistant that the question is asked by

    def for_answer(
        self,
        trace: Trace,
        *,
        timeout_s: float,
        language: Language = "en",
        asker_id: str = "",
        instructions: str = "",
    ) -> Deps:
        """The same parts for one answer; timeout_s: of the whole answer. asker_id: whose searches of the last hour are
        found again; empty: every search runs again. instructions: on how it is worded."""
        deps = replace(
            self,
            trace=trace,
            deadline=Deadline(timeout_s),
            progress=Progress(),
            language=language,
            instructions=instructions,
        )
        return replace(deps, searcher=self._cached_searcher(asker_id))

    def _cached_searcher(self, asker_id: str) -> Searcher:
        settings = self.settings.search
        if not asker_id or self.search_cache is None or not settings.cache_s:
            return self.searcher
        return CachedSearcher(
            self.searcher,
            self.search_cache,
            user_id=asker_id,
            how=f"{settings.formula} {settings.legs}",
            seconds=settings.cache_s,
        )

    def prompt(self, name: str, /, **variables: object) -> Prompt:
        """The prompt of this name in the answer's language, filled. Raises ModelError."""
        return self.prompts.render(name, language=self.language, **variables)

    def writing_prompt(self, name: str, /, **variables: object) -> Prompt:
        """`prompt`, of what writes an answer. Instructions end its system part, so that this stays the same from one
        question to the next; what judges answers never has them. Raises ModelError."""
        filled = self.prompt(name, **variables)
        if not self.instructions:
            return filled
        frame = phrase("instructions", self.language, text=neutralise(self.instructions))
        return replace(filled, system=f"{filled.system}\n\n{frame}")

    async def complete(self, prompt: str, schema: type[Schema], **variables: object) -> Schema:
        """One structured call of the fast model. Raises ModelError."""
        filled = self.prompt(prompt, **variables)
        model = await self.models.chat("fast")
        return await model.complete_json(filled, schema)

    async def judge(self, prompt: str, schema: type[Schema], **variables: object) -> Schema:
        """`complete`, where the model says whether what was found answers."""
        verdict = await self.complete(prompt, schema, **variables)
        self.progress.judged_by = (await self.models.chat("fast")).name
        return verdict
