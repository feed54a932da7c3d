"""Hybrid search: all variants of a question × {dense, BM25}, one call per leg and space, fused.

    queries ─┬─ embed all ─► dense leg (all vectors in one call) ─┐
             └─ analyse ───► BM25 leg (all texts in one call) ────┴► per variant: formula ─► RRF over variants ─► texts

Source: seed 003, §2.1 (window topK×30, ×50 for short queries; match filter; 0.2·dense + 1.0·BM25) and §2.4 (RRF). The
default formula sums z-scores instead, which labelled questions show to be better.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragsite.rag_settings import SearchSettings
from retrieval.analysis import analyze, query_terms
from retrieval.errors import EmbeddingUnavailableError, InvalidQueryError
from retrieval.fusion import best_first, dense_trust, rrf_scores, seed_sum, zscore_sum
from retrieval.ports import ChunkIndex, ChunkStore, LegHit, Models, SearchRequest, SearchResult, Vectors
from retrieval.values import (
    EmbeddingSpace,
    Query,
    ScoredChunk,
    Scores,
    SearchFilters,
    SearchScope,
    StoredChunk,
)

MAX_QUERY_CHARS = 4_000  # what is embedded and analysed of a query; embedding models read no more
MAX_QUERY_TERMS = 96  # BM25's cost grows with every term
MATCH_LEVELS = (1.0, 0.75, 0.5)  # share of a long query's terms that a candidate must hold; at last, any term
RELAX_ORDER = ("tags", "doc_type", "policy_year", "department")  # the filter that is most often too narrow goes first
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff]+")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class _Variant:
    """A query as the legs are asked: its label in `ranks`, its distinct terms in order."""

    label: str
    query: Query
    terms: tuple[str, ...]


@dataclass(slots=True)
class _SpaceResult:
    """What one embedding space gave: fused ids, best first, and what every leg said of them."""

    ranking: list[str] = field(default_factory=list)
    fused: Mapping[str, float] = field(default_factory=dict)
    dense: dict[str, float] = field(default_factory=dict)
    bm25: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)
    degraded: str = ""
    notes: dict[str, object] = field(default_factory=dict)


class _Timings(dict[str, float]):
    """Wall time per stage in ms; stages that run in several spaces at once count the longest."""

    def add(self, stage: str, begun: float) -> None:
        self[stage] = max(self.get(stage, 0.0), round((time.perf_counter() - begun) * 1000, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """What one embedding space is asked. limit: the window, per leg and variant."""

    space: EmbeddingSpace
    collection_ids: Sequence[str]
    variants: Sequence[_Variant]
    stages: Sequence[str]
    filters: SearchFilters
    limit: int
    scope: SearchScope
    timings: _Timings

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

    async def search(self, request: SearchRequest) -> SearchResult:
        """Candidates, best first, at most `top_k` (held to 1..max_top_k), or `depth`.

        Raises InvalidQueryError, IndexUnavailableError; EmbeddingUnavailableError only if dense alone was asked for.
        """
        begun, timings = time.perf_counter(), _Timings()
        top_k = min(max(request.top_k, 1), self._settings.max_top_k)
        variants = await asyncio.to_thread(_variants, request.queries)
        timings.add("analyse", begun)
        filters, relaxed = request.filters, []
        results = await self._search_spaces(request, variants, filters, top_k, timings)
        while filters and _found(results) < self._settings.min_filtered_candidates:
            filters, name = _relax(filters)
            relaxed.append(name)
            results = await self._search_spaces(request, variants, filters, top_k, timings)
        candidates = await self._candidates(results, request.scope, request.depth or top_k, timings)
        timings.add("total", begun)
        return SearchResult(
            candidates=tuple(candidates),
            timings_ms=dict(timings),
            relaxed=tuple(relaxed),
            degraded=tuple(dict.fromkeys(result.degraded for result in results if result.degraded)),
            notes=self._notes(variants, results, top_k),
        )

    def _notes(self, variants: Sequence[_Variant], results: Sequence[_SpaceResult], top_k: int) -> dict[str, object]:
        notes: dict[str, object] = {"formula": self._settings.formula, "window": self._window(variants[0], top_k)}
        for result in results:
            notes.update(result.notes)
        return notes | {"terms": list(variants[0].terms), "found": _found(results), "spaces": len(results)}

    def _window(self, variant: _Variant, top_k: int) -> int:
        short = len(variant.terms) <= self._settings.short_query_terms
        return top_k * (self._settings.short_window_multiplier if short else self._settings.window_multiplier)

    # -------------------------------------------------------------------------------------------- one space
    async def _search_spaces(
        self,
        request: SearchRequest,
        variants: Sequence[_Variant],
        filters: SearchFilters,
        top_k: int,
        timings: _Timings,
    ) -> list[_SpaceResult]:
        spaces: dict[EmbeddingSpace, list[str]] = {}
        for ref in request.scope.collections:
            if ref.space is not None:
                spaces.setdefault(ref.space, []).append(ref.id)
        asks = [
            _Ask(
                space=space,
                collection_ids=collection_ids,
                variants=variants,
                stages=request.stages,
                filters=filters,
                limit=self._window(variants[0], top_k),
                scope=request.scope,
                timings=timings,
            )
            for space, collection_ids in spaces.items()
        ]
        return list(await asyncio.gather(*map(self._search_space, asks)))

    async def _search_space(self, ask: _Ask) -> _SpaceResult:
        result = _SpaceResult()
        dense_legs, bm25_legs = await asyncio.gather(self._dense(ask, result), self._bm25(ask))
        begun = time.perf_counter()
        await self._fuse(result, ask, dense_legs, bm25_legs)
        ask.timings.add("fuse", begun)
        return result

    async def _dense(self, ask: _Ask, result: _SpaceResult) -> list[list[LegHit]]:
        """Nothing, and a reason in `degraded`, where the space's embedder can't be had but text search can."""
        if "dense" not in ask.stages:
            return ask.nothing
        begun = time.perf_counter()
        try:
            vectors = await self._embed(ask)
        except EmbeddingUnavailableError as error:
            if "bm25" not in ask.stages:
                raise
            result.degraded = f"no vectors, text search alone: {error.reason}"
            return ask.nothing
        ask.timings.add("embed", begun)
        begun = time.perf_counter()
        hits = await self._index.search_dense(
            ask.space, vectors, collection_ids=ask.collection_ids, filters=ask.filters, limit=ask.limit
        )
        ask.timings.add("dense", begun)
        return hits

    async def _embed(self, ask: _Ask) -> Vectors:
        """Raises EmbeddingUnavailableError."""
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                embedder = await self._models.embedder(ask.space)
                return await embedder.embed_queries([variant.query.text for variant in ask.variants])
        except TimeoutError as error:
            reason = f"the query was not embedded within {self._settings.timeout_s:g} s"
            raise EmbeddingUnavailableError(reason) from error

    async def _bm25(self, ask: _Ask) -> list[list[LegHit]]:
        if "bm25" not in ask.stages:
            return ask.nothing
        begun = time.perf_counter()
        texts = ["" if variant.query.vector_only else " ".join(variant.terms) for variant in ask.variants]
        hits = await self._index.search_bm25(
            ask.space, texts, collection_ids=ask.collection_ids, filters=ask.filters, limit=ask.limit
        )
        ask.timings.add("bm25", begun)
        return hits

    # -------------------------------------------------------------------------------------------- fusion
    async def _fuse(
        self,
        result: _SpaceResult,
        ask: _Ask,
        dense_legs: Sequence[Sequence[LegHit]],
        bm25_legs: Sequence[Sequence[LegHit]],
    ) -> None:
        """Each variant's legs by the formula, then the variants by rank."""
        per_variant: list[dict[str, float]] = []
        for variant, dense_hits, bm25_hits in zip(ask.variants, dense_legs, bm25_legs, strict=True):
            dense, bm25 = _scores(dense_hits), _scores(bm25_hits)
            _remember(result, f"{variant.label}:dense", dense, result.dense)
            _remember(result, f"{variant.label}:bm25", bm25, result.bm25)
            if self._settings.formula == "seed":
                per_variant.append(await self._seed(result, variant, dense, bm25, ask.scope))
            else:
                per_variant.append(self._zscore(dense, bm25, full=len(bm25) >= ask.limit))
        found = [scores for scores in per_variant if scores]
        if len(found) == 1:  # one list keeps the formula's scores
            result.fused = found[0]
        else:
            result.fused = rrf_scores([best_first(scores) for scores in found], k=self._settings.rrf_k)
        result.ranking = best_first(result.fused)

    def _zscore(self, dense: Mapping[str, float], bm25: Mapping[str, float], *, full: bool) -> dict[str, float]:
        """full: BM25's list had no room left, so what is not in it may score up to its last entry."""
        trust = dense_trust(dense, bm25, least=self._settings.least_dense_trust)
        return zscore_sum(
            dense,
            bm25,
            dense_weight=self._settings.zscore_dense_weight * trust,
            bm25_weight=self._settings.zscore_bm25_weight,
            bm25_floor=min(bm25.values()) if full else 0.0,
        )

    async def _seed(
        self,
        result: _SpaceResult,
        variant: _Variant,
        dense: Mapping[str, float],
        bm25: Mapping[str, float],
        scope: SearchScope,
    ) -> dict[str, float]:
        """kNN window → match filter on terms → BM25 inside the window. Without vectors BM25's list is the window."""
        window = list(dense) or list(bm25)
        if dense and variant.terms and not variant.query.vector_only:
            window, result.notes["match"] = await self._matching(variant, window, scope)
        weights = (self._settings.dense_weight, self._settings.bm25_weight)
        scores = seed_sum(dense, bm25, dense_weight=weights[0], bm25_weight=weights[1])
        return {chunk_id: scores[chunk_id] for chunk_id in window}

    async def _matching(self, variant: _Variant, window: list[str], scope: SearchScope) -> tuple[list[str], float]:
        """The candidates that hold enough of the query's terms, and the share that was enough: 0 where none does."""
        chunks = await self._store.fetch(window, scope=scope)
        shares = await asyncio.to_thread(_term_shares, variant.terms, list(chunks.values()))
        any_term = 1.0 / len(variant.terms)
        short = len(variant.terms) <= self._settings.short_query_terms
        for level in (any_term,) if short else (*MATCH_LEVELS, any_term):
            kept = [chunk_id for chunk_id in window if shares.get(chunk_id, 0.0) >= level - 1e-9]
            if kept:
                return kept, round(level, 3)
        return window, 0.0

    # -------------------------------------------------------------------------------------------- candidates
    async def _candidates(
        self, results: Sequence[_SpaceResult], scope: SearchScope, top_k: int, timings: _Timings
    ) -> list[ScoredChunk]:
        """The best `top_k` that still exist, each text once. Texts are read for these alone."""
        begun = time.perf_counter()
        ranking, fused = _merge(results, self._settings.rrf_k)
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


# ------------------------------------------------------------------------------------------------ queries
def _variants(queries: Iterable[Query]) -> list[_Variant]:
    """The queries that say something, each once. Raises InvalidQueryError when none does."""
    variants: list[_Variant] = []
    seen: set[tuple[str, bool]] = set()
    counts: dict[str, int] = {}
    for query in queries:
        text = _SPACE.sub(" ", _CONTROL.sub(" ", query.text)).strip()[:MAX_QUERY_CHARS]
        if not text or (text, query.vector_only) in seen:
            continue
        seen.add((text, query.vector_only))
        counts[query.kind] = counts.get(query.kind, 0) + 1
        label = query.kind if counts[query.kind] == 1 else f"{query.kind}{counts[query.kind]}"
        terms = tuple(dict.fromkeys(query_terms(text)))[:MAX_QUERY_TERMS]
        variants.append(_Variant(label, replace(query, text=text), terms))
    if not variants:
        raise InvalidQueryError()
    return variants


def _term_shares(terms: Sequence[str], chunks: Iterable[StoredChunk]) -> dict[str, float]:
    wanted = set(terms)
    return {
        chunk.chunk_id: len(wanted & set(analyze(f"{chunk.title}\n{chunk.heading}\n{chunk.text}"))) / len(wanted)
        for chunk in chunks
    }


def _relax(filters: SearchFilters) -> tuple[SearchFilters, str]:
    """The filters without the next one of RELAX_ORDER, and its name."""
    name = next(name for name in RELAX_ORDER if getattr(filters, name) not in (None, "", ()))
    empty: dict[str, tuple[()] | None] = {name: () if name == "tags" else None}
    return replace(filters, **empty), name  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ results
def _scores(hits: Sequence[LegHit]) -> dict[str, float]:
    return {hit.chunk_id: hit.score for hit in hits}


def _remember(result: _SpaceResult, leg: str, scores: Mapping[str, float], best: dict[str, float]) -> None:
    """Keep a leg's ranks, and of its scores the best over the variants."""
    for rank, (chunk_id, score) in enumerate(scores.items(), start=1):
        result.ranks.setdefault(chunk_id, {})[leg] = rank
        best[chunk_id] = max(score, best.get(chunk_id, score))


def _found(results: Sequence[_SpaceResult]) -> int:
    return sum(len(result.ranking) for result in results)


def _merge(results: Sequence[_SpaceResult], k: int) -> tuple[list[str], Mapping[str, float]]:
    """One list. Scores of different spaces can't be compared, ranks can."""
    if len(results) == 1:
        return results[0].ranking, results[0].fused
    fused = rrf_scores([result.ranking for result in results], k=k)
    return best_first(fused), fused


def _scored(chunk: StoredChunk, fused: float, results: Sequence[_SpaceResult]) -> ScoredChunk:
    chunk_id = chunk.chunk_id
    home = next(result for result in results if chunk_id in result.fused)
    scores = Scores(dense=home.dense.get(chunk_id), bm25=home.bm25.get(chunk_id), fused=fused, final=fused)
    return ScoredChunk(chunk=chunk, scores=scores, ranks=home.ranks.get(chunk_id, {}))


def _comparable(text: str) -> str:
    return _SPACE.sub("", text).casefold()
