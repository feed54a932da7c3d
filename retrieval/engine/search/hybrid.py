"""Hybrid search: each group of queries × {dense, BM25}, one call per leg and embedding space, fused.

    queries ─► groups ─┬─ embed, mean ─► dense leg (one call) ─┬─► formula ─► RRF of groups and spaces ─► texts
                       └─ analyse ─────► BM25 leg (one call) ──┘

Source: seed 003, §2.1 (window topK×30, ×50 for short queries) and §2.4 (RRF).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from ragsite.core.messages import worded
from retrieval.engine.errors import IndexUnavailableError
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.search.found import Found, Timings, joined_spaces
from retrieval.engine.search.fusion import best_first, own_first
from retrieval.engine.search.query_groups import MAX_QUERY_TERMS, query_groups
from retrieval.engine.search.space_search import SHORT_QUERY_TERMS, SpaceSearch, SpaceSearcher
from retrieval.engine.values import (
    CollectionRef,
    EmbeddingSpace,
    Level,
    ScoredChunk,
    SearchFilters,
    SearchScope,
    TailHit,
)

HIERARCHICAL_DOCUMENTS = 10  # documents that hierarchical search looks into
WINDOW_MULTIPLIER = 30  # candidates per leg: top_k times this
SHORT_WINDOW_MULTIPLIER = 50  # the same for short queries
BOOST_WINDOW = 100  # the best so many of what was found can be lifted or lowered by ratings

NO_DOCUMENT = worded("no document's summary fits the question: all chunks were searched")


class HybridSearcher:
    """Searches the chunks of a scope in both legs."""

    def __init__(self, spaces: SpaceSearcher) -> None:
        self._spaces = spaces

    async def search(self, request: SearchRequest) -> SearchResult:
        """Candidates, best first, at most `top_k` (held to 1..max_top_k), or `depth`. Filters hold, however little
        they leave: who may drop one is decided above (`retrieval.engine.search.preferring`).

        Where the index is away, or a part of it is missing, words are searched in the database, and `degraded` says so.
        Raises InvalidQueryError; IndexUnavailableError and EmbeddingUnavailableError only if dense alone was asked for.
        """
        if request.strategy == "hierarchical":
            return await self._search_in_best_documents(request)
        begun = time.perf_counter()
        timings = Timings()
        found = await self._found(request, "chunks", timings)
        depth = request.depth or self._top_k(request)
        fetching = time.perf_counter()
        candidates, tail = await self._candidates(found, request.scope, depth)
        timings.add("fetch", fetching)
        timings.add("total", begun)
        return SearchResult(
            candidates=candidates,
            tail_hits=tail,
            timings_ms=timings,
            degraded=found.degraded,
            notes=found.notes,
        )

    async def is_whole(self, scope: SearchScope) -> bool:
        """As of `retrieval.engine.ports.Searcher`."""
        if self._spaces.completeness is None:
            return True
        spaces = {ref.space for ref in scope.collections if ref.space is not None}
        try:
            held = await asyncio.gather(
                *(self._spaces.completeness.holdings(space) for space in spaces)
            )
        except IndexUnavailableError:
            return False
        return not any(holdings.missing for holdings in held)

    async def holds_any(self, terms: Sequence[str], scope: SearchScope) -> bool:
        """As of `retrieval.engine.ports.Searcher`; terms: of `search_terms`."""
        spaces: dict[EmbeddingSpace, list[str]] = {}
        for ref in scope.collections:
            if ref.space is not None:
                spaces.setdefault(ref.space, []).append(ref.id)
        text = " ".join(terms[:MAX_QUERY_TERMS])
        looked = [
            self._spaces.index.search_bm25(
                space, [text], collection_ids=ids, filters=SearchFilters(), limit=1
            )
            for space, ids in spaces.items()
        ]
        return any(hits for legs in await asyncio.gather(*looked) for hits in legs)

    async def _search_in_best_documents(self, request: SearchRequest) -> SearchResult:
        """Hierarchical search: both legs find documents by their summaries, then chunks inside the best of these.

        A document without a summary, since it has one chunk alone, is found by its first chunk. `notes["documents"]`
        names the documents; where none is found, all chunks are searched, and `degraded` says so. Permission and
        filters hold in both rounds.
        Source: seed 001 (`hierarchical_search`); coarse to fine as in RAPTOR (Sarthi et al., ICLR 2024), one level.
        """
        begun = time.perf_counter()
        timings = Timings()
        found = await self._found(request, "documents", timings)
        documents = list(dict.fromkeys(map(found.document_of.__getitem__, best_first(found.fused))))
        documents = documents[:HIERARCHICAL_DOCUMENTS]
        timings.add("documents", begun)
        filters = replace(request.filters, documents=tuple(documents) or request.filters.documents)
        result = await self.search(replace(request, strategy="chunks", filters=filters))
        total = round(result.timings_ms["total"] + timings["documents"], 2)
        return replace(
            result,
            timings_ms={**result.timings_ms, "documents": timings["documents"], "total": total},
            degraded=result.degraded if documents else (*result.degraded, NO_DOCUMENT),
            notes={**result.notes, "strategy": "hierarchical", "documents": documents},
        )

    def _top_k(self, request: SearchRequest) -> int:
        return min(max(request.top_k, 1), self._spaces.settings.max_top_k)

    async def _found(self, request: SearchRequest, level: Level, timings: Timings) -> Found:
        """All legs in all spaces. Scores of different spaces can't be compared, ranks can."""
        begun = time.perf_counter()
        groups = query_groups(request.queries, self._spaces.settings.legs)
        terms = groups[0].terms
        timings.add("analyse", begun)
        short = len(terms) <= SHORT_QUERY_TERMS
        limit = self._top_k(request) * (SHORT_WINDOW_MULTIPLIER if short else WINDOW_MULTIPLIER)
        spaces: dict[EmbeddingSpace, list[CollectionRef]] = {}
        for ref in request.scope.collections:
            if ref.space is not None:
                spaces.setdefault(ref.space, []).append(ref)
        attached = frozenset(ref.id for ref in request.scope.collections if ref.attached)
        filters = replace(request.filters, spared=attached) if request.filters else request.filters
        rows = {"filters": filters, "level": level}
        asks = (
            SpaceSearch(
                request,
                space,
                groups,
                limit,
                {"collection_ids": [ref.id for ref in refs], **rows},
                any(ref.is_fresh for ref in refs),
                timings,
            )
            for space, refs in spaces.items()
        )
        results = await asyncio.gather(*map(self._spaces.search, asks))
        found = results[0] if len(results) == 1 else joined_spaces(results)
        found.notes |= {
            "formula": self._spaces.settings.formula,
            "legs": self._spaces.settings.legs,
            "window": limit,
            "terms": list(terms),
            "found": len(found.fused),
            "spaces": len(spaces),
        }
        return found

    async def _candidates(
        self, found: Found, scope: SearchScope, top_k: int
    ) -> tuple[tuple[ScoredChunk, ...], tuple[TailHit, ...]]:
        """The best `top_k` that still exist, each text once, and what follows down to the place from which ratings may
        lift. Texts are read for the former alone. Of those that score alike the asking user's own come first."""
        ranking = best_first(found.fused)
        batch = top_k + max(5, top_k // 2)
        own = {ref.id for ref in scope.collections if ref.own}
        candidates: list[ScoredChunk] = []
        seen: set[str] = set()
        for start in range(0, len(ranking), batch):
            chunk_ids = ranking[start : start + batch]
            chunks = await self._spaces.store.fetch(chunk_ids, scope=scope)
            owned = {key for key, chunk in chunks.items() if chunk.collection_id in own}
            chunk_ids = own_first(chunk_ids, found.fused, own=owned)
            ranking[start : start + batch] = chunk_ids
            for at, chunk_id in enumerate(chunk_ids, start=start + 1):
                chunk = chunks.get(chunk_id)
                if chunk is None or (text := "".join(chunk.text.split()).casefold()) in seen:
                    continue
                seen.add(text)
                hit = found.tail_hit(chunk_id)
                candidates.append(ScoredChunk(chunk=chunk, scores=hit.scores, ranks=hit.ranks))
                if len(candidates) == top_k:
                    return tuple(candidates), tuple(map(found.tail_hit, ranking[at:BOOST_WINDOW]))
        return tuple(candidates), ()
