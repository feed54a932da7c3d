"""Hybrid search: all variants of a question × {dense, BM25}, one call per leg and space, fused.

    queries ─┬─ embed all ─► dense leg (all vectors in one call) ────────────────┐
             └─ analyse ───► BM25 leg (one weighted text for all that ask alike) ┴► formula ─► RRF of the parts ─► texts

Source: seed 003, §2.1 (window topK×30, ×50 for short queries; match filter; 0.2·dense + 1.0·BM25) and §2.4 (RRF). The
default formula sums z-scores instead, which labelled questions show to be better (`retrieval/search/space_fusion.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

from ragsite.core.rag_settings import SearchSettings
from ragsite.core.wording import worded
from retrieval.errors import EmbeddingUnavailableError
from retrieval.ports import ChunkIndex, ChunkStore, LegHit, Models, SearchRequest, SearchResult, Vectors
from retrieval.search import fusion, space_fusion
from retrieval.search.fusion import best_first, rrf_scores
from retrieval.search.queries import Variant, VariantGroup, group_variants, make_variants
from retrieval.search.space_fusion import SpaceFusion, SpaceResult, dense_limit
from retrieval.values import (
    EmbeddingSpace,
    Level,
    ScoredChunk,
    Scores,
    SearchFilters,
    SearchScope,
    StoredChunk,
    TailHit,
)

HIERARCHICAL_DOCUMENTS = 10  # documents that hierarchical search looks into

WINDOW_MULTIPLIER = 30  # candidates per leg: top_k times this
SHORT_WINDOW_MULTIPLIER = 50  # the same for short queries
BOOST_WINDOW = 100  # the best so many of what was found can be lifted or lowered by ratings
SEARCH_TIMEOUT_S = 10.0  # one search, all legs

NO_DOCUMENT = worded("no document's summary fits the question: all chunks were searched")


class _Timings(dict[str, float]):
    """Wall time per stage in ms; stages that run in several spaces at once count the longest."""

    def add(self, stage: str, begun: float) -> None:
        self[stage] = max(self.get(stage, 0.0), round((time.perf_counter() - begun) * 1000, 2))


class _Rows(TypedDict):
    collection_ids: Sequence[str]
    filters: SearchFilters
    level: Level
    document_ids: Sequence[str]


@dataclass(slots=True)
class _Looked:
    """What the legs gave."""

    variants: Sequence[Variant]
    timings: _Timings
    spaces: list[SpaceResult] = field(default_factory=list)

    @property
    def hit_count(self) -> int:
        return sum(len(space.ranking) for space in self.spaces)

    @property
    def degraded(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(space.degraded for space in self.spaces if space.degraded))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """What one embedding space is asked. limit: the window, per leg and variant."""

    level: Level
    document_ids: Sequence[str]
    space: EmbeddingSpace
    collection_ids: Sequence[str]
    groups: Sequence[VariantGroup]
    stages: Sequence[str]
    filters: SearchFilters
    limit: int
    scope: SearchScope
    timings: _Timings

    @property
    def variants(self) -> list[Variant]:
        return [variant for group in self.groups for variant in group.variants]

    @property
    def rows(self) -> _Rows:
        return {
            "collection_ids": self.collection_ids,
            "filters": self.filters,
            "level": self.level,
            "document_ids": self.document_ids,
        }

    @property
    def nothing(self) -> list[list[LegHit]]:
        return [[] for _ in self.variants]


class HybridSearcher:
    """`retrieval.ports.Searcher`."""

    def __init__(self, *, index: ChunkIndex, store: ChunkStore, models: Models, settings: SearchSettings) -> None:
        self._index = index
        self._store = store
        self._models = models
        self._settings = settings
        self._fusion = SpaceFusion(settings, store)

    async def search(self, request: SearchRequest) -> SearchResult:
        """Candidates, best first, at most `top_k` (held to 1..max_top_k), or `depth`. Filters hold, however little
        they leave: who may drop one is decided above (`retrieval.steps.retrieve`).

        Raises InvalidQueryError, IndexUnavailableError; EmbeddingUnavailableError only if dense alone was asked for.
        """
        if request.strategy == "hierarchical":
            return await self._search_in_best_documents(request)
        begun = time.perf_counter()
        looked = await self._look(request, "chunks")
        depth = request.depth or self._top_k(request)
        candidates = await self._candidates(looked.spaces, request.scope, depth, looked.timings)
        looked.timings.add("total", begun)
        return SearchResult(
            candidates=tuple(candidates),
            tail_hits=self._tail_hits(looked.spaces, candidates),
            timings_ms=dict(looked.timings),
            degraded=looked.degraded,
            notes=self._notes(looked, self._top_k(request)),
        )

    async def _search_in_best_documents(self, request: SearchRequest) -> SearchResult:
        """Hierarchical search: both legs find documents by their summaries, then chunks inside the best of these.

        A document without a summary, for it has one chunk alone or was read before there were summaries, is found by
        its first chunk. `notes["documents"]` names the documents; where none is found, all chunks are searched, and
        `degraded` says so. Permission and filters hold in both rounds.
        Source: seed 001 (`hierarchical_search`); coarse to fine as in RAPTOR (Sarthi et al., ICLR 2024), one level.
        """
        begun = time.perf_counter()
        looked = await self._look(request, "documents")
        ranking, _ = _merge(looked.spaces, fusion.RRF_K)
        document_of = {row: document for space in looked.spaces for row, document in space.document_of.items()}
        documents = list(dict.fromkeys(document_of[row] for row in ranking))[:HIERARCHICAL_DOCUMENTS]
        looked.timings.add("documents", begun)
        inside = replace(request, strategy="chunks")
        if documents:
            inside = replace(inside, document_ids=tuple(documents))
        result, spent = await self.search(inside), looked.timings["documents"]
        total = round(result.timings_ms["total"] + spent, 2)
        return replace(
            result,
            timings_ms={**result.timings_ms, "documents": spent, "total": total},
            degraded=result.degraded if documents else (*result.degraded, NO_DOCUMENT),
            notes={**result.notes, "strategy": "hierarchical", "documents": documents},
        )

    async def _look(self, request: SearchRequest, level: Level) -> _Looked:
        """All legs in all spaces."""
        begun, timings = time.perf_counter(), _Timings()
        variants = make_variants(request.queries)
        timings.add("analyse", begun)
        looked = _Looked(variants, timings)
        looked.spaces = await self._search_spaces(request, looked, level)
        return looked

    def _notes(self, looked: _Looked, top_k: int) -> dict[str, object]:
        first = looked.variants[0]
        notes: dict[str, object] = {"formula": self._settings.formula, "window": self._window(first, top_k)}
        for space in looked.spaces:
            notes.update(space.notes)
        return notes | {"terms": list(first.terms), "found": looked.hit_count, "spaces": len(looked.spaces)}

    def _top_k(self, request: SearchRequest) -> int:
        return min(max(request.top_k, 1), self._settings.max_top_k)

    def _window(self, variant: Variant, top_k: int) -> int:
        short = len(variant.terms) <= space_fusion.SHORT_QUERY_TERMS
        return top_k * (SHORT_WINDOW_MULTIPLIER if short else WINDOW_MULTIPLIER)

    # -------------------------------------------------------------------------------------------- one space
    async def _search_spaces(self, request: SearchRequest, looked: _Looked, level: Level) -> list[SpaceResult]:
        spaces: dict[EmbeddingSpace, list[str]] = {}
        for ref in request.scope.collections:
            if ref.space is not None:
                spaces.setdefault(ref.space, []).append(ref.id)
        first = looked.variants[0]
        attached = frozenset(ref.id for ref in request.scope.collections if ref.attached)
        filters = replace(request.filters, spared=attached) if request.filters else request.filters
        asks = [
            _Ask(
                level=level,
                document_ids=request.document_ids,
                space=space,
                collection_ids=collection_ids,
                groups=group_variants(looked.variants),
                stages=request.stages,
                filters=filters,
                limit=self._window(first, self._top_k(request)),
                scope=request.scope,
                timings=looked.timings,
            )
            for space, collection_ids in spaces.items()
        ]
        return list(await asyncio.gather(*(self._search_space(ask) for ask in asks)))

    async def _search_space(self, ask: _Ask) -> SpaceResult:
        result = SpaceResult()
        dense_legs, bm25_legs = await asyncio.gather(self._dense(ask, result), self._bm25(ask))
        begun = time.perf_counter()
        await self._fusion.fuse(
            result, ask.groups, dense_legs, bm25_legs, limit=ask.limit, scope=ask.scope, semantic=ask.space.semantic,
        )  # fmt: skip
        ask.timings.add("fuse", begun)
        return result

    async def _dense(self, ask: _Ask, result: SpaceResult) -> list[list[LegHit]]:
        """One list per variant; where the embedder is away but text search works, nothing, and why in `degraded`."""
        if "dense" not in ask.stages:
            return ask.nothing
        begun = time.perf_counter()
        try:
            vectors = await self._embed(ask)
        except EmbeddingUnavailableError as error:
            if "bm25" not in ask.stages:
                raise
            result.degraded = worded("no vectors, text search alone: {reason}", reason=error.reason)
            return ask.nothing
        ask.timings.add("embed", begun)
        begun = time.perf_counter()
        limit = dense_limit(ask.limit, len(vectors))
        hits = await self._index.search_dense(ask.space, vectors, limit=limit, **ask.rows)
        ask.timings.add("dense", begun)
        return hits

    async def _embed(self, ask: _Ask) -> Vectors:
        """Raises EmbeddingUnavailableError."""
        try:
            async with asyncio.timeout(SEARCH_TIMEOUT_S):
                embedder = await self._models.embedder(ask.space)
                return await embedder.embed_queries([variant.query.text for variant in ask.variants])
        except TimeoutError as error:
            reason = worded(
                "the query was not embedded within {search_timeout_s:g} s", search_timeout_s=SEARCH_TIMEOUT_S
            )
            raise EmbeddingUnavailableError(reason) from error

    async def _bm25(self, ask: _Ask) -> list[list[LegHit]]:
        """One text for each group of variants, and one list."""
        if "bm25" not in ask.stages:
            return [[] for _ in ask.groups]
        begun = time.perf_counter()
        texts = [group.text for group in ask.groups]
        hits = await self._index.search_bm25(ask.space, texts, limit=ask.limit, **ask.rows)
        ask.timings.add("bm25", begun)
        return hits

    # -------------------------------------------------------------------------------------------- candidates
    async def _candidates(
        self, results: Sequence[SpaceResult], scope: SearchScope, top_k: int, timings: _Timings
    ) -> list[ScoredChunk]:
        """The best `top_k` that still exist, each text once. Texts are read for these alone."""
        begun = time.perf_counter()
        ranking, fused = _merge(results, fusion.RRF_K)
        candidates: list[ScoredChunk] = []
        seen: set[str] = set()
        batch = top_k + max(5, top_k // 2)
        for start in range(0, len(ranking), batch):
            chunk_ids = ranking[start : start + batch]
            chunks = await self._store.fetch(chunk_ids, scope=scope)
            for chunk_id in chunk_ids:
                chunk = chunks.get(chunk_id)
                if chunk is None or (text := _comparable(chunk.text)) in seen:
                    continue
                seen.add(text)
                candidates.append(_scored(chunk, fused[chunk_id], results))
                if len(candidates) == top_k:
                    timings.add("fetch", begun)
                    return candidates
        timings.add("fetch", begun)
        return candidates

    def _tail_hits(self, results: Sequence[SpaceResult], candidates: Sequence[ScoredChunk]) -> tuple[TailHit, ...]:
        """What follows the last candidate, down to the place from which ratings may lift."""
        if not candidates:
            return ()
        ranking, fused = _merge(results, fusion.RRF_K)
        begin = ranking.index(candidates[-1].chunk_id) + 1
        return tuple(_tail_hit(row, fused[row], results) for row in ranking[begin:BOOST_WINDOW])


# ------------------------------------------------------------------------------------------------ results
def _merge(results: Sequence[SpaceResult], k: int) -> tuple[list[str], Mapping[str, float]]:
    """One list. Scores of different spaces can't be compared, ranks can."""
    if len(results) == 1:
        return results[0].ranking, results[0].fused
    fused = rrf_scores([result.ranking for result in results], k=k)
    return best_first(fused), fused


def _scored(chunk: StoredChunk, fused: float, results: Sequence[SpaceResult]) -> ScoredChunk:
    hit = _tail_hit(chunk.chunk_id, fused, results)
    return ScoredChunk(chunk=chunk, scores=hit.scores, ranks=hit.ranks)


def _tail_hit(chunk_id: str, fused: float, results: Sequence[SpaceResult]) -> TailHit:
    home = next(result for result in results if chunk_id in result.fused)
    scores = Scores(dense=home.dense.get(chunk_id), bm25=home.bm25.get(chunk_id), fused=fused, final=fused)
    return TailHit(
        chunk_id=chunk_id,
        document_id=home.document_of[chunk_id],
        scores=scores,
        ranks=home.ranks.get(chunk_id, {}),
    )


def _comparable(text: str) -> str:
    return "".join(text.split()).casefold()
