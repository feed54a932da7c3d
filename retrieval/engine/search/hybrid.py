"""Hybrid search: each group of queries × {dense, BM25}, one call per leg and embedding space, fused.

    queries ─► groups ─┬─ embed, mean ─► dense leg (one call) ─┬─► formula ─► RRF of groups and spaces ─► texts
                       └─ analyse ─────► BM25 leg (one call) ──┘

A chunk that a leg did not find still gets a score: it is at most as good as the last one found. BM25 gives it 0 when
the list had room left (no term matches); otherwise, and for vectors, it gets the list's lowest score.

Source: seed 003, §2.1 (window topK×30, ×50 for short queries; match filter; 0.2·dense + 1.0·BM25) and §2.4 (RRF). The
default formula sums z-scores instead, which labelled questions show to be better (docs/evaluation.md).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ragsite.core.messages import worded
from ragsite.core.rag_settings import SearchSettings
from retrieval.engine.errors import EmbeddingUnavailableError, IndexUnavailableError, SpaceMissingError
from retrieval.engine.ports import ChunkStore, LegHit, Models, SearchRequest, SearchResult, TermStore, Vectors
from retrieval.engine.search.completeness import IndexCompleteness
from retrieval.engine.search.fusion import best_first, lower_repeats, rrf_scores, zscore_sum
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.search.query_groups import MAX_QUERY_TERMS, QueryGroup, query_groups
from retrieval.engine.text.analysis import analyze
from retrieval.engine.values import (
    CollectionRef,
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
SHORT_QUERY_TERMS = 3  # a query of at most so many terms is short
MATCH_LEVELS = (1.0, 0.75, 0.5)  # formula "seed": share of a long query's terms that a candidate must hold
REPEAT_PENALTY = 0.5  # formula "zscore": of a chunk, for each better one of the same document
BOOST_WINDOW = 100  # the best so many of what was found can be lifted or lowered by ratings
SEARCH_TIMEOUT_S = 10.0  # one search, all legs

NO_DOCUMENT = worded("no document's summary fits the question: all chunks were searched")


class _Timings(dict[str, float]):
    """Wall time per stage in ms; stages that run in several spaces at once count the longest."""

    def add(self, stage: str, begun: float) -> None:
        self[stage] = max(self.get(stage, 0.0), round((time.perf_counter() - begun) * 1000, 2))


@dataclass(slots=True)
class _Found:
    """What the legs of one or several embedding spaces found.

    fused: score by chunk id. dense, bm25: the best of any group, bm25 on the scale of one query. ranks: by leg, from 1.
    """

    fused: Mapping[str, float] = field(default_factory=dict)
    dense: dict[str, float] = field(default_factory=dict)
    bm25: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)
    document_of: dict[str, str] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    notes: dict[str, object] = field(default_factory=dict)

    def add_leg(self, label: str, hits: Sequence[LegHit], best: dict[str, float], *, scale: float = 1.0) -> None:
        for rank, hit in enumerate(hits, start=1):
            self.ranks.setdefault(hit.chunk_id, {})[label] = rank
            self.document_of[hit.chunk_id] = hit.document_id
            best[hit.chunk_id] = max(hit.score / scale, best.get(hit.chunk_id, hit.score / scale))

    def tail_hit(self, chunk_id: str) -> TailHit:
        fused = self.fused[chunk_id]
        scores = Scores(dense=self.dense.get(chunk_id), bm25=self.bm25.get(chunk_id), fused=fused, final=fused)
        return TailHit(
            chunk_id=chunk_id,
            document_id=self.document_of[chunk_id],
            scores=scores,
            ranks=self.ranks.get(chunk_id, {}),
        )


@dataclass(frozen=True, slots=True)
class _Ask:
    """What one embedding space is asked. limit: the window, per leg and group. rows: which rows of the index. fresh:
    whether some may have been written in the last seconds."""

    request: SearchRequest
    space: EmbeddingSpace
    groups: Sequence[QueryGroup]
    limit: int
    rows: Mapping[str, Any]
    fresh: bool
    timings: _Timings


class HybridSearcher:
    """Searches the chunks of a scope in both legs."""

    def __init__(
        self,
        *,
        index: MilvusIndex,
        store: ChunkStore,
        models: Models,
        settings: SearchSettings,
        terms: TermStore | None = None,
        completeness: IndexCompleteness | None = None,
    ) -> None:
        """terms, completeness: None where nothing but the index holds what is searched."""
        self._index = index
        self._store = store
        self._term_store = terms
        self._completeness = completeness
        self._models = models
        self._settings = settings

    async def search(self, request: SearchRequest) -> SearchResult:
        """Candidates, best first, at most `top_k` (held to 1..max_top_k), or `depth`. Filters hold, however little
        they leave: who may drop one is decided above (`retrieval.engine.search.preferring`).

        Where the index is away, or a part of it is missing, words are searched in the database, and `degraded` says so.
        Raises InvalidQueryError; IndexUnavailableError and EmbeddingUnavailableError only if dense alone was asked for.
        """
        if request.strategy == "hierarchical":
            return await self._search_in_best_documents(request)
        begun = time.perf_counter()
        timings = _Timings()
        found = await self._found(request, "chunks", timings)
        depth = request.depth or self._top_k(request)
        fetching = time.perf_counter()
        candidates, tail = await self._candidates(found, request.scope, depth)
        timings.add("fetch", fetching)
        timings.add("total", begun)
        return SearchResult(
            candidates=candidates, tail_hits=tail, timings_ms=timings, degraded=found.degraded, notes=found.notes
        )

    async def is_whole(self, scope: SearchScope) -> bool:
        """As of `retrieval.engine.ports.Searcher`."""
        if self._completeness is None:
            return True
        spaces = {ref.space for ref in scope.collections if ref.space is not None}
        try:
            held = await asyncio.gather(*(self._completeness.holdings(space) for space in spaces))
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
            self._index.search_bm25(space, [text], collection_ids=ids, filters=SearchFilters(), limit=1)
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
        timings = _Timings()
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
        return min(max(request.top_k, 1), self._settings.max_top_k)

    async def _found(self, request: SearchRequest, level: Level, timings: _Timings) -> _Found:
        """All legs in all spaces. Scores of different spaces can't be compared, ranks can."""
        begun = time.perf_counter()
        groups = query_groups(request.queries, self._settings.legs)
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
            _Ask(
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
        results = await asyncio.gather(*map(self._search_space, asks))
        found = results[0] if len(results) == 1 else _joined(results)
        found.notes |= {
            "formula": self._settings.formula,
            "legs": self._settings.legs,
            "window": limit,
            "terms": list(terms),
            "found": len(found.fused),
            "spaces": len(spaces),
        }
        return found

    # -------------------------------------------------------------------------------------------- one space
    async def _search_space(self, ask: _Ask) -> _Found:
        found = _Found()
        try:
            dense_legs, bm25_legs, _ = await asyncio.gather(
                self._dense(ask, found), self._bm25(ask), self._check_completeness(ask, found)
            )
        except IndexUnavailableError as error:
            dense_legs = [[] for _ in ask.groups]
            bm25_legs = await self._without_index(ask, found, error)
        begun = time.perf_counter()
        lists = []
        for group, dense_hits, bm25_hits in zip(ask.groups, dense_legs, bm25_legs, strict=True):
            found.add_leg(f"{group.label}:dense", dense_hits, found.dense)
            found.add_leg(f"{group.label}:bm25", bm25_hits, found.bm25, scale=group.text_weight)
            dense = {hit.chunk_id: hit.score for hit in dense_hits}
            bm25 = {hit.chunk_id: hit.score / group.text_weight for hit in bm25_hits}
            if self._settings.formula == "seed":
                lists.append(await self._seed(ask, group, dense, bm25, found.notes))
            else:
                # What is not in a full list may score up to its last entry.
                floor = min(bm25.values()) if len(bm25) >= ask.limit else 0.0
                scores = zscore_sum(dense, bm25, bm25_floor=floor)
                lists.append(lower_repeats(scores, found.document_of, penalty=REPEAT_PENALTY))
        filled = [scores for scores in lists if scores]
        # One list keeps the formula's scores.
        found.fused = filled[0] if len(filled) == 1 else rrf_scores([best_first(scores) for scores in filled])
        ask.timings.add("fuse", begun)
        return found

    async def _seed(
        self,
        ask: _Ask,
        group: QueryGroup,
        dense: Mapping[str, float],
        bm25: Mapping[str, float],
        notes: dict[str, object],
    ) -> dict[str, float]:
        """kNN window → match filter on terms → BM25 inside the window. Without vectors BM25's list is the window."""
        window = list(dense) or list(bm25)
        if dense and group.terms and not group.queries[0].vector_only:
            window, notes["match"] = await self._matching(group.terms, window, ask.request.scope)
        return {chunk_id: 0.2 * dense.get(chunk_id, 0.0) + bm25.get(chunk_id, 0.0) for chunk_id in window}

    async def _matching(self, terms: Sequence[str], window: list[str], scope: SearchScope) -> tuple[list[str], float]:
        """The candidates that hold enough of the query's terms, and the share that was enough: 0 where none does."""
        chunks = await self._store.fetch(window, scope=scope)
        shares = await asyncio.to_thread(term_shares, terms, list(chunks.values()))
        any_term = 1.0 / len(terms)
        for level in (any_term,) if len(terms) <= SHORT_QUERY_TERMS else (*MATCH_LEVELS, any_term):
            if matching := [chunk_id for chunk_id in window if shares.get(chunk_id, 0.0) >= level - 1e-9]:
                return matching, round(level, 3)
        return window, 0.0

    async def _dense(self, ask: _Ask, found: _Found) -> list[list[LegHit]]:
        """One list per group; where the embedder is away but text search works, nothing, and why in `degraded`."""
        nothing: list[list[LegHit]] = [[] for _ in ask.groups]
        if "dense" not in ask.request.stages:
            return nothing
        begun = time.perf_counter()
        try:
            vectors = await self._vectors(ask)
        except EmbeddingUnavailableError as error:
            if "bm25" not in ask.request.stages:
                raise
            found.degraded += (worded("no vectors, text search alone: {reason}", reason=error.reason),)
            return nothing
        ask.timings.add("embed", begun)
        begun = time.perf_counter()
        hits = await self._index.search_dense(ask.space, vectors, limit=ask.limit, fresh=ask.fresh, **ask.rows)
        ask.timings.add("dense", begun)
        return hits

    async def _vectors(self, ask: _Ask) -> Vectors:
        """A vector for each group, all queries embedded in one call. Raises EmbeddingUnavailableError."""
        try:
            async with asyncio.timeout(SEARCH_TIMEOUT_S):
                embedder = await self._models.embedder(ask.space)
                vectors = await embedder.embed_queries([query.text for group in ask.groups for query in group.queries])
        except TimeoutError as error:
            reason = worded(
                "the query was not embedded within {search_timeout_s:g} s", search_timeout_s=SEARCH_TIMEOUT_S
            )
            raise EmbeddingUnavailableError(reason) from error
        ends = np.cumsum([len(group.queries) for group in ask.groups])
        parts = np.split(vectors, ends[:-1])
        return np.concatenate([group.vector(part) for group, part in zip(ask.groups, parts, strict=True)])

    async def _bm25(self, ask: _Ask) -> list[list[LegHit]]:
        """One list per group."""
        if "bm25" not in ask.request.stages:
            return [[] for _ in ask.groups]
        begun = time.perf_counter()
        texts = [group.text for group in ask.groups]
        hits = await self._index.search_bm25(ask.space, texts, limit=ask.limit, fresh=ask.fresh, **ask.rows)
        ask.timings.add("bm25", begun)
        return hits

    async def _check_completeness(self, ask: _Ask, found: _Found) -> None:
        """Where rows are missing in the index, `degraded` says how many."""
        if self._completeness is None:
            return
        holdings = await self._completeness.holdings(ask.space)
        if holdings.missing:
            found.degraded += (
                worded(
                    "{missing} of {expected} passages are missing in the search index; it is being rebuilt",
                    missing=holdings.missing,
                    expected=holdings.expected,
                ),
            )

    async def _without_index(self, ask: _Ask, found: _Found, error: IndexUnavailableError) -> list[list[LegHit]]:
        """The text leg, searched in the database. Raises the error where that would not serve."""
        is_lost = isinstance(error, SpaceMissingError)
        if is_lost and (self._term_store is None or not await self._term_store.row_count(ask.space)):
            return [[] for _ in ask.groups]  # nothing was written yet
        if is_lost and self._completeness is not None:
            await self._completeness.repair()
        if self._term_store is None or "bm25" not in ask.request.stages:
            raise error
        begun = time.perf_counter()
        texts = [group.text for group in ask.groups]
        hits = await self._term_store.search_terms(texts, limit=ask.limit, **ask.rows)
        ask.timings.add("bm25", begun)
        reason = worded("words were searched in the database alone: {reason}", reason=error.message)
        found.degraded = (reason,)
        return hits

    # -------------------------------------------------------------------------------------------- candidates
    async def _candidates(
        self, found: _Found, scope: SearchScope, top_k: int
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
            chunks = await self._store.fetch(chunk_ids, scope=scope)
            others = {key for key in chunk_ids if key not in chunks or chunks[key].collection_id not in own}
            chunk_ids.sort(key=lambda key: (-found.fused[key], key in others))
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


def _joined(results: Sequence[_Found]) -> _Found:
    """Of several spaces, whose chunks are distinct."""
    joined = _Found(fused=rrf_scores([best_first(found.fused) for found in results]))
    for found in results:
        for name in ("dense", "bm25", "ranks", "document_of", "notes"):
            getattr(joined, name).update(getattr(found, name))
        joined.degraded = tuple(dict.fromkeys((*joined.degraded, *found.degraded)))
    return joined


def term_shares(terms: Sequence[str], chunks: Iterable[StoredChunk]) -> dict[str, float]:
    """By chunk, which share of the terms its title, heading and text hold, 0..1."""
    term_set = set(terms)
    return {
        chunk.chunk_id: len(term_set & set(analyze(f"{chunk.title}\n{chunk.heading}\n{chunk.text}"))) / len(term_set)
        for chunk in chunks
    }
