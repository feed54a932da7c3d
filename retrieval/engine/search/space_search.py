"""The search of one embedding space: its legs, fused by the formula, and what serves where a part of it is away.

A chunk that a leg did not find still gets a score: it is at most as good as the last one found. BM25 gives it 0 when
the list had room left (no term matches); otherwise, and for vectors, it gets the list's lowest score.

Source of the formula "seed": seed 003, §2.1 (match filter; 0.2·dense + 1.0·BM25). The default one sums z-scores
instead, which labelled questions show to be better (docs/evaluation.md).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragsite.core.messages import worded
from ragsite.core.search_settings import SearchSettings
from retrieval.engine.errors import (
    EmbeddingUnavailableError,
    IndexUnavailableError,
    SpaceMissingError,
)
from retrieval.engine.ports import ChunkStore, LegHit, Models, SearchRequest, TermStore, Vectors
from retrieval.engine.search.completeness import IndexCompleteness
from retrieval.engine.search.found import Found, Timings
from retrieval.engine.search.fusion import best_first, lower_repeats, rrf_scores, zscore_sum
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.search.query_groups import QueryGroup
from retrieval.engine.text.analysis import analyze
from retrieval.engine.values import EmbeddingSpace, SearchScope, StoredChunk

SHORT_QUERY_TERMS = 3  # a query of at most so many terms is short
MATCH_LEVELS = (
    1.0,
    0.75,
    0.5,
)  # formula "seed": share of a long query's terms that a candidate must hold
REPEAT_PENALTY = 0.5  # formula "zscore": of a chunk, for each better one of the same document
SEARCH_TIMEOUT_S = 10.0  # one search, all legs


@dataclass(frozen=True, slots=True)
class SpaceSearch:
    """What one embedding space is asked. limit: the window, per leg and group. rows: which rows of the index. fresh:
    whether some may have been written in the last seconds."""

    request: SearchRequest
    space: EmbeddingSpace
    groups: Sequence[QueryGroup]
    limit: int
    rows: Mapping[str, Any]
    fresh: bool
    timings: Timings


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSearcher:
    """Searches the chunks of one embedding space at a time.

    terms, completeness: None where nothing but the index holds what is searched.
    """

    index: MilvusIndex
    store: ChunkStore
    models: Models
    settings: SearchSettings
    terms: TermStore | None = None
    completeness: IndexCompleteness | None = None

    async def search(self, ask: SpaceSearch) -> Found:
        found = Found()
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
            if self.settings.formula == "seed":
                lists.append(await self._seed(ask, group, dense, bm25, found.notes))
            else:
                # What is not in a full list may score up to its last entry.
                floor = min(bm25.values()) if len(bm25) >= ask.limit else 0.0
                scores = zscore_sum(dense, bm25, bm25_floor=floor)
                lists.append(lower_repeats(scores, found.document_of, penalty=REPEAT_PENALTY))
        filled = [scores for scores in lists if scores]
        # One list keeps the formula's scores.
        found.fused = (
            filled[0] if len(filled) == 1 else rrf_scores([best_first(scores) for scores in filled])
        )
        ask.timings.add("fuse", begun)
        return found

    async def _seed(
        self,
        ask: SpaceSearch,
        group: QueryGroup,
        dense: Mapping[str, float],
        bm25: Mapping[str, float],
        notes: dict[str, object],
    ) -> dict[str, float]:
        """kNN window → match filter on terms → BM25 inside the window. Without vectors BM25's list is the window."""
        window = list(dense) or list(bm25)
        if dense and group.terms and not group.queries[0].vector_only:
            window, notes["match"] = await self._matching(group.terms, window, ask.request.scope)
        return {
            chunk_id: 0.2 * dense.get(chunk_id, 0.0) + bm25.get(chunk_id, 0.0)
            for chunk_id in window
        }

    async def _matching(
        self, terms: Sequence[str], window: list[str], scope: SearchScope
    ) -> tuple[list[str], float]:
        """The candidates that hold enough of the query's terms, and the share that was enough: 0 where none does."""
        chunks = await self.store.fetch(window, scope=scope)
        shares = await asyncio.to_thread(term_shares, terms, list(chunks.values()))
        any_term = 1.0 / len(terms)
        for level in (any_term,) if len(terms) <= SHORT_QUERY_TERMS else (*MATCH_LEVELS, any_term):
            if matching := [
                chunk_id for chunk_id in window if shares.get(chunk_id, 0.0) >= level - 1e-9
            ]:
                return matching, round(level, 3)
        return window, 0.0

    async def _dense(self, ask: SpaceSearch, found: Found) -> list[list[LegHit]]:
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
            found.degraded += (
                worded("no vectors, text search alone: {reason}", reason=error.reason),
            )
            return nothing
        ask.timings.add("embed", begun)
        begun = time.perf_counter()
        hits = await self.index.search_dense(
            ask.space, vectors, limit=ask.limit, fresh=ask.fresh, **ask.rows
        )
        ask.timings.add("dense", begun)
        return hits

    async def _vectors(self, ask: SpaceSearch) -> Vectors:
        """A vector for each group, all queries embedded in one call. Raises EmbeddingUnavailableError."""
        try:
            async with asyncio.timeout(SEARCH_TIMEOUT_S):
                embedder = await self.models.embedder(ask.space)
                vectors = await embedder.embed_queries(
                    [query.text for group in ask.groups for query in group.queries]
                )
        except TimeoutError as error:
            reason = worded(
                "the query was not embedded within {search_timeout_s:g} s",
                search_timeout_s=SEARCH_TIMEOUT_S,
            )
            raise EmbeddingUnavailableError(reason) from error
        ends = np.cumsum([len(group.queries) for group in ask.groups])
        parts = np.split(vectors, ends[:-1])
        return np.concatenate(
            [group.vector(part) for group, part in zip(ask.groups, parts, strict=True)]
        )

    async def _bm25(self, ask: SpaceSearch) -> list[list[LegHit]]:
        """One list per group."""
        if "bm25" not in ask.request.stages:
            return [[] for _ in ask.groups]
        begun = time.perf_counter()
        texts = [group.text for group in ask.groups]
        hits = await self.index.search_bm25(
            ask.space, texts, limit=ask.limit, fresh=ask.fresh, **ask.rows
        )
        ask.timings.add("bm25", begun)
        return hits

    async def _check_completeness(self, ask: SpaceSearch, found: Found) -> None:
        """Where rows are missing in the index, `degraded` says how many."""
        if self.completeness is None:
            return
        holdings = await self.completeness.holdings(ask.space)
        if holdings.missing:
            found.degraded += (
                worded(
                    "{missing} of {expected} passages are missing in the search index; it is being rebuilt",
                    missing=holdings.missing,
                    expected=holdings.expected,
                ),
            )

    async def _without_index(
        self, ask: SpaceSearch, found: Found, error: IndexUnavailableError
    ) -> list[list[LegHit]]:
        """The text leg, searched in the database. Raises the error where that would not serve."""
        is_lost = isinstance(error, SpaceMissingError)
        if is_lost and (self.terms is None or not await self.terms.row_count(ask.space)):
            return [[] for _ in ask.groups]  # nothing was written yet
        if is_lost and self.completeness is not None:
            await self.completeness.repair()
        if self.terms is None or "bm25" not in ask.request.stages:
            raise error
        begun = time.perf_counter()
        texts = [group.text for group in ask.groups]
        hits = await self.terms.search_terms(texts, limit=ask.limit, **ask.rows)
        ask.timings.add("bm25", begun)
        reason = worded("words were searched in the database alone: {reason}", reason=error.message)
        found.degraded = (reason,)
        return hits


def term_shares(terms: Sequence[str], chunks: Iterable[StoredChunk]) -> dict[str, float]:
    """By chunk, which share of the terms its title, heading and text hold, 0..1."""
    term_set = set(terms)
    return {
        chunk.chunk_id: len(
            term_set & set(analyze(f"{chunk.title}\n{chunk.heading}\n{chunk.text}"))
        )
        / len(term_set)
        for chunk in chunks
    }
