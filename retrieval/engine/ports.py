"""The protocols of what has several forms, or lives on the Django side. Every one has a small fake in the tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from retrieval.engine.values import (
    Boosts,
    CuratedMatch,
    DocumentRef,
    EmbeddingSpace,
    Exchange,
    Level,
    Query,
    Recall,
    ScoredChunk,
    SearchFilters,
    SearchScope,
    StoredChunk,
    TailHit,
    Vocabulary,
)
from retrieval.engine.values.counting import Columns, CountFilter, CountResult

Schema = TypeVar("Schema", bound=BaseModel)
Vectors = NDArray[np.float32]


# ------------------------------------------------------------------------------------------------ models
@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A rendered prompt. The fixed part comes first (`system`), so that the model server's prompt cache works.

    personal: it holds what is remembered for the user, which nobody else may read.
    """

    name: str
    hash: str
    system: str
    user: str
    personal: bool = False


class ChatModel(Protocol):
    """A chat model in one role. Raises the `ModelError`s of `retrieval.engine.errors`, nothing else."""

    @property
    def name(self) -> str: ...

    @property
    def prompt_budget(self) -> int:
        """Tokens (`retrieval.engine.text.quoting`) that system and user text may have together; a longer prompt is
        refused."""
        ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[str | None, None]:
        """The answer's text as the model produces it; None: what came before were its thoughts. Closing it (`aclosing`)
        closes the model's connection.

        Breaks after the first piece: ModelInterruptedError; the length limit was reached: ModelCutError, its subclass.
        """
        ...

    async def complete_json(self, prompt: Prompt, schema: type[Schema]) -> Schema:
        """A validated object. Raises ModelOutputError, too."""
        ...


class Embedder(Protocol):
    """Raises EmbeddingUnavailableError."""

    @property
    def space(self) -> EmbeddingSpace: ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """float32, shape (len(texts), dim), unit length, in order."""
        ...

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """All query variants in one call; shape (len(texts), dim)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """What the model server offers now. `reason`: why it is not reachable, for people. `chat_models`: those that a
    question may choose from, the site's own first. `ignoring_format`: those whose replies have shown that they are not
    held to a schema: their JSON is looked for in what they write."""

    reachable: bool
    offline_forced: bool = False
    chat_model: str = ""
    fast_model: str = ""
    embed_model: str = ""
    chat_models: tuple[str, ...] = ()
    ignoring_format: tuple[str, ...] = ()
    reason: str = ""


class Models(Protocol):
    """The models that can be used at this moment (`retrieval.engine.providers.registry`)."""

    async def status(self) -> ModelStatus: ...

    async def chat(self, role: Literal["answer", "fast"], *, name: str = "") -> ChatModel:
        """`name`: this model in place of the role's. Raises ModelUnavailableError when there is none."""
        ...

    async def embedder(self, space: EmbeddingSpace) -> Embedder:
        """The embedder that made this space. Raises EmbeddingUnavailableError."""
        ...

    async def default_embedder(self) -> Embedder:
        """The one for new collections: the configured or first embedding model, else the one that is built in."""
        ...

    async def context_length(self, space: EmbeddingSpace) -> int | None:
        """How many tokens of a text this space's model reads; None: all, or it can't be found out. Never raises."""
        ...

    def look_again(self) -> None:
        """Ask for the lists of models again with the next call: a model has come."""
        ...

    async def load(self) -> None:
        """Have the chat models loaded into memory, where their server can be told to. Raises ModelUnavailableError."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """One result of a web search, as plain text without markup. url: http(s). published: YYYY-MM-DD or empty."""

    title: str
    url: str
    snippet: str
    published: str = ""


class WebSearcher(Protocol):
    """A search engine on the web (`retrieval.engine.providers.web_search`). Its results are material, never
    instructions."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, *, limit: int) -> tuple[WebResult, ...]:
        """At most `limit` results, best first. Empty: looked, and found nothing. Raises WebSearchError."""
        ...


# ------------------------------------------------------------------------------------------------ index
@dataclass(frozen=True, slots=True)
class LegHit:
    """One hit of one leg. dense: cosine; bm25: >= 0, whatever sign the backend uses."""

    chunk_id: str
    document_id: str
    score: float


class ChunkStore(Protocol):
    """The database's side of search (`retrieval.knowledge.chunk_store.DatabaseChunkStore`)."""

    async def fetch(
        self, chunk_ids: Sequence[str], *, scope: SearchScope
    ) -> Mapping[str, StoredChunk]:
        """The chunks that exist, inside the scope; deleted ones are missing."""
        ...

    async def vocabulary(self, scope: SearchScope) -> Vocabulary: ...


class TermStore(Protocol):
    """What the index is made from, as the database holds it (`retrieval.knowledge.term_search.DatabaseTermStore`)."""

    async def row_count(self, space: EmbeddingSpace) -> int:
        """How many rows the index has to hold of a space."""
        ...

    async def search_terms(
        self,
        texts: Sequence[str],
        *,
        collection_ids: Sequence[str],
        filters: SearchFilters,
        limit: int,
        level: Level,
    ) -> list[list[LegHit]]:
        """The BM25 leg without the index: as `MilvusIndex.search_bm25`, over the terms that it was given."""
        ...


class DocumentReader(Protocol):
    """Whole documents, as the database holds them (`retrieval.knowledge.chunk_store.DatabaseDocumentReader`). Nothing
    outside the scope is ever given."""

    async def documents(
        self, scope: SearchScope, *, filters: SearchFilters, limit: int
    ) -> tuple[DocumentRef, ...]:
        """Those that are ready and that the filters let through, newest first; at most `limit`."""
        ...

    async def chunks(
        self, document_id: str, *, scope: SearchScope, limit: int
    ) -> tuple[StoredChunk, ...]:
        """The first ones, in order; at most `limit`."""
        ...

    async def at(
        self, places: Sequence[tuple[str, int]], *, scope: SearchScope
    ) -> tuple[StoredChunk, ...]:
        """The chunks at these (document id, seq) that are there, in one read."""
        ...


class DocumentCounter(Protocol):
    """Exact counts over all documents of a scope (`retrieval.knowledge.counting.counter.DatabaseCounter`)."""

    async def count(self, scope: SearchScope, counted: CountFilter, *, limit: int) -> CountResult:
        """limit: rows that are given back. Raises InvalidInputError where there is nothing to look for,
        UnknownValueError where no document has what a filter names, UnavailableError where the database could not be
        asked."""
        ...

    async def columns(self, scope: SearchScope) -> Columns:
        """Of tables and forms. Raises UnavailableError where the database could not be asked."""
        ...


# ------------------------------------------------------------------------------------------------ search and workflows
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """`stages`: which legs run; without vectors at hand the text leg runs alone and says so in `degraded`.

    `depth`: candidates to give back where that is not `top_k`, which still decides how wide is searched: evaluation
    looks deeper into a result than people do.
    `strategy`: "hierarchical" finds documents by their summaries first, then chunks inside them.
    """

    queries: tuple[Query, ...]
    scope: SearchScope
    filters: SearchFilters = field(default_factory=SearchFilters)
    top_k: int = 5
    stages: tuple[Literal["dense", "bm25"], ...] = ("dense", "bm25")
    depth: int | None = None
    strategy: Literal["chunks", "hierarchical"] = "chunks"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Candidates, best first. `relaxed`: names of preferring filters where passages that they do not name follow those
    that they do (`retrieval.engine.search.preferring`).

    `tail_hits`: what was found below them, best first, without texts.
    `degraded`: reasons, for people, e.g. "no vectors: Ollama is not reachable"."""

    candidates: tuple[ScoredChunk, ...] = ()
    tail_hits: tuple[TailHit, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    relaxed: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    notes: Mapping[str, object] = field(default_factory=dict)


class Searcher(Protocol):
    """Search in an index (`retrieval.engine.search.hybrid`)."""

    async def search(self, request: SearchRequest) -> SearchResult:
        """Raises InvalidQueryError, IndexUnavailableError; EmbeddingUnavailableError only for vectors alone."""
        ...

    async def is_whole(self, scope: SearchScope) -> bool:
        """Whether, as of the last seconds, the index can be asked and lacks nothing that the scope should hold."""
        ...

    async def holds_any(self, terms: Sequence[str], scope: SearchScope) -> bool:
        """Whether any of these terms stands in a document of the scope. Raises IndexUnavailableError."""
        ...


class SearchCache(Protocol):
    """Results of searches and when they were made, by key (`retrieval.knowledge.search_cache`). Never raises."""

    async def get(self, key: str) -> tuple[float, SearchResult] | None: ...

    async def put(self, key: str, kept: tuple[float, SearchResult], *, seconds: int) -> None: ...


class BoostSource(Protocol):
    """Where ratings' multipliers come from (`feedback.rounds.live`)."""

    async def boosts(self, query: str, candidates: Sequence[ScoredChunk | TailHit]) -> Boosts:
        """For those of the candidates that ratings lift or lower. Raises UnavailableError."""
        ...


class CuratedAnswers(Protocol):
    """Answers that people have written beforehand (`feedback.curation.curated`)."""

    async def find(self, question: str, scope: SearchScope) -> CuratedMatch | None:
        """The one for a question nearly identical to this one, all of whose passages are in the scope and as they were
        when it was checked. Raises UnavailableError when it can't be looked at."""
        ...


class MemoryStore(Protocol):
    """What earlier answers said, per user (`retrieval.memory.store`). Nobody else's is ever found."""

    async def recall(self, user_id: str, query: str, *, limit: int) -> Recall:
        """The facts that are near the query, best first. Raises UnavailableError when it can't be looked at."""
        ...

    async def remember(
        self, user_id: str, exchange: Exchange
    ) -> Literal["added", "updated", "off"]:
        """Keep the fact of an exchange, in place of one that says the same. Raises UnavailableError."""
        ...
