"""Ways to put ranked lists together. Scores are per chunk id; a leg holds the chunks that it found, best first.

A chunk that a leg did not find still gets a score: it is at most as good as the last one found. BM25 gives it 0
when the list had room left (no term matches); otherwise, and for vectors, it gets the list's lowest score.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

RRF_K = 60  # rank fusion: 1 / (k + rank)

Leg = Mapping[str, float]


def rrf_scores(rankings: Sequence[Sequence[str]], *, k: int = RRF_K) -> dict[str, float]:
    """Sum of 1 / (k + rank) over the lists that hold an id, rank from 1; in first-met order.

    Source: Cormack, Clarke, Buettcher, SIGIR 2009; k = 60 is theirs.
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, chunk_id in enumerate(ranking, start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1.0 / (k + rank)
    return scores


def reciprocal_rank_fusion(rankings: Sequence[Sequence[str]], *, k: int = RRF_K) -> list[str]:
    """Merge ranked lists of chunk ids, best first. Ties keep first-met order."""
    return best_first(rrf_scores(rankings, k=k))


def best_first(scores: Leg) -> list[str]:
    """Ids by score, highest first; ties keep the mapping's order."""
    return sorted(scores, key=lambda chunk_id: -scores[chunk_id])


def seed_sum(dense: Leg, bm25: Leg) -> dict[str, float]:
    """The seed's formula on raw scores, 0.2·dense + 1.0·BM25; a score that is missing counts 0."""
    return {chunk_id: 0.2 * dense.get(chunk_id, 0.0) + bm25.get(chunk_id, 0.0) for chunk_id in {**dense, **bm25}}


def zscore_sum(dense: Leg, bm25: Leg, *, dense_weight: float = 1.0, bm25_floor: float = 0.0) -> dict[str, float]:
    """Both legs standardised (mean 0, deviation 1 over the candidates), then summed by weight, that of BM25 being 1.

    A leg that found nothing at all, or was not asked, changes no score.
    """
    total = dict.fromkeys({**dense, **bm25}, 0.0)
    for leg, weight, floor in ((dense, dense_weight, min(dense.values(), default=0.0)), (bm25, 1.0, bm25_floor)):
        if leg:
            values = [leg.get(chunk_id, floor) for chunk_id in total]
            for chunk_id, value in zip(total, _zscores(values), strict=True):
                total[chunk_id] += weight * value
    return total


def lower_repeats(scores: Leg, document_of: Mapping[str, str], *, penalty: float) -> dict[str, float]:
    """Each chunk's score less `penalty` for every better one of its document, so that one long document does not fill
    the first places."""
    better: Counter[str] = Counter()
    lowered = {}
    for chunk_id in best_first(scores):
        lowered[chunk_id] = scores[chunk_id] - penalty * better[document_of[chunk_id]]
        better[document_of[chunk_id]] += 1
    return lowered


def _zscores(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / deviation if deviation else 0.0 for value in values]
