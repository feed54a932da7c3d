"""Puts together what the legs of one embedding space gave: variants that ask alike by score, their groups by rank."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragsite.core.rag_settings import SearchSettings
from retrieval.ports import ChunkStore, LegHit
from retrieval.search import fusion
from retrieval.search.fusion import best_first, dense_trust, mean_leg, rrf_scores, seed_sum, zscore_sum
from retrieval.search.queries import Variant, VariantGroup, term_shares
from retrieval.values import SearchScope

SHORT_QUERY_TERMS = 3  # a query of at most so many terms is short
SEED_DENSE_WEIGHT = 0.2  # formula "seed": 0.2·dense + 1.0·BM25
SEED_BM25_WEIGHT = 1.0  # formula "seed"
ZSCORE_BM25_WEIGHT = 1.0  # formula "zscore"
LEXICAL_WEIGHT = 1e-6  # formula "zscore": of a dense leg without an embedding model
LEAST_DENSE_TRUST = 0.3  # formula "zscore": share of its weight that a dense leg keeps when it disagrees with BM25
VARIANT_FUSION = "mean"  # formula "zscore": a question's wordings by score, or by rank

MATCH_LEVELS = (1.0, 0.75, 0.5)  # share of a long query's terms that a candidate must hold; at last, any term
SHARED_WINDOW = 2  # several variants' dense windows hold together so many times a single one's


def dense_limit(window: int, variants: int) -> int:
    """The dense window of each of several variants: Milvus Lite's cost grows with every hit that it gives back."""
    return max(1, min(window, SHARED_WINDOW * window // max(1, variants)))


@dataclass(slots=True)
class SpaceResult:
    """What one embedding space gave: fused ids, best first, and what every leg said of them.

    dense, bm25: the best over the variants or groups. bm25 is on the scale of a single query's.
    """

    ranking: list[str] = field(default_factory=list)
    fused: Mapping[str, float] = field(default_factory=dict)
    dense: dict[str, float] = field(default_factory=dict)
    bm25: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)
    degraded: str = ""
    notes: dict[str, object] = field(default_factory=dict)
    document_of: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpaceFusion:
    settings: SearchSettings
    store: ChunkStore

    async def fuse(
        self, result: SpaceResult, groups: Sequence[VariantGroup], dense_legs: Sequence[Sequence[LegHit]],
        bm25_legs: Sequence[Sequence[LegHit]], *, limit: int, scope: SearchScope, semantic: bool = True,
    ) -> None:  # fmt: skip
        """dense_legs: one per variant; bm25_legs: one per group. Fills `result`. semantic: whether an embedding model
        gave the dense scores (`EmbeddingSpace.semantic`)."""
        rankings: list[dict[str, float]] = []
        vectors = iter(dense_legs)
        for group, bm25_hits in zip(groups, bm25_legs, strict=True):
            weight = max(1, group.text_weight)
            bm25 = {hit.chunk_id: hit.score / weight for hit in bm25_hits}
            _remember(result, f"{group.label}:bm25", bm25, result.bm25)
            _place(result, bm25_hits)
            dense = []
            for variant in group.variants:
                hits = next(vectors)
                dense.append({hit.chunk_id: hit.score for hit in hits})
                _remember(result, f"{variant.label}:dense", dense[-1], result.dense)
                _place(result, hits)
            full = len(bm25) >= limit
            rankings += await self._group(result, group, dense, bm25, full=full, scope=scope, semantic=semantic)
        filled = [scores for scores in rankings if scores]
        if len(filled) == 1:  # one list keeps the formula's scores
            result.fused = filled[0]
        else:
            result.fused = rrf_scores([best_first(scores) for scores in filled], k=fusion.RRF_K)
        result.ranking = best_first(result.fused)

    async def _group(
        self, result: SpaceResult, group: VariantGroup, dense: Sequence[Mapping[str, float]],
        bm25: Mapping[str, float], *, full: bool, scope: SearchScope, semantic: bool,
    ) -> list[dict[str, float]]:  # fmt: skip
        """One list for the group, or, where variants are joined by rank, one for each variant."""
        if self.settings.formula == "seed":
            pairs = zip(group.variants, dense, strict=True)
            return [await self._seed(result, variant, leg, bm25, scope) for variant, leg in pairs]
        if VARIANT_FUSION == "rrf":
            return [self._zscore(leg, bm25, full=full, semantic=semantic) for leg in dense]
        return [self._zscore(mean_leg(dense, group.weights), bm25, full=full, semantic=semantic)]

    def _zscore(
        self, dense: Mapping[str, float], bm25: Mapping[str, float], *, full: bool, semantic: bool
    ) -> dict[str, float]:
        """full: BM25's list had no room left, so what is not in it may score up to its last entry.

        Hashed words know nothing that BM25 does not, and no word's weight: summed with it they cost up to 3.4 points of
        nDCG@10 (hotpotqa), with misspelt words in the questions as well. So they only part what BM25 holds equal, and
        order what it did not find.
        """
        trust = dense_trust(dense, bm25, least=LEAST_DENSE_TRUST) if semantic else LEXICAL_WEIGHT if bm25 else 1.0
        return zscore_sum(
            dense,
            bm25,
            dense_weight=self.settings.zscore_dense_weight * trust,
            bm25_weight=ZSCORE_BM25_WEIGHT,
            bm25_floor=min(bm25.values()) if full else 0.0,
        )

    async def _seed(
        self, result: SpaceResult, variant: Variant, dense: Mapping[str, float], bm25: Mapping[str, float],
        scope: SearchScope,
    ) -> dict[str, float]:  # fmt: skip
        """kNN window → match filter on terms → BM25 inside the window. Without vectors BM25's list is the window."""
        window = list(dense) or list(bm25)
        if dense and variant.terms and not variant.query.vector_only:
            window, result.notes["match"] = await self._matching(variant, window, scope)
        weights = (SEED_DENSE_WEIGHT, SEED_BM25_WEIGHT)
        scores = seed_sum(dense, bm25, dense_weight=weights[0], bm25_weight=weights[1])
        return {chunk_id: scores[chunk_id] for chunk_id in window}

    async def _matching(self, variant: Variant, window: list[str], scope: SearchScope) -> tuple[list[str], float]:
        """The candidates that hold enough of the query's terms, and the share that was enough: 0 where none does."""
        chunks = await self.store.fetch(window, scope=scope)
        shares = await asyncio.to_thread(term_shares, variant.terms, list(chunks.values()))
        any_term = 1.0 / len(variant.terms)
        short = len(variant.terms) <= SHORT_QUERY_TERMS
        for level in (any_term,) if short else (*MATCH_LEVELS, any_term):
            kept = [chunk_id for chunk_id in window if shares.get(chunk_id, 0.0) >= level - 1e-9]
            if kept:
                return kept, round(level, 3)
        return window, 0.0


def _remember(result: SpaceResult, leg: str, scores: Mapping[str, float], best: dict[str, float]) -> None:
    """Keep a leg's ranks, and of its scores the best."""
    for rank, (chunk_id, score) in enumerate(scores.items(), start=1):
        result.ranks.setdefault(chunk_id, {})[leg] = rank
        best[chunk_id] = max(score, best.get(chunk_id, score))


def _place(result: SpaceResult, hits: Sequence[LegHit]) -> None:
    result.document_of.update((hit.chunk_id, hit.document_id) for hit in hits)
