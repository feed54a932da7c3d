"""How lists of hits become one: by ranks, or by standardised scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

RRF_K = 60  # rank fusion: 1 / (k + rank)
ALIKE = 1e-4  # between scores that are alike: a vector's last digits differ with the batch it was made in

Leg = Mapping[str, float]


def rrf_scores(rankings: Sequence[Sequence[str]]) -> dict[str, float]:
    """Sum of 1 / (k + rank) over the lists that hold an id, rank from 1; in first-met order.

    Source: Cormack, Clarke, Buettcher, SIGIR 2009; k = 60 is theirs.
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, chunk_id in enumerate(ranking, start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1.0 / (RRF_K + rank)
    return scores


def best_first(scores: Leg) -> list[str]:
    """Ids by score, highest first; ties keep the mapping's order."""
    return sorted(scores, key=lambda chunk_id: -scores[chunk_id])


def own_first(ranking: Sequence[str], scores: Leg, *, own: Collection[str]) -> list[str]:
    """The ranking, best first, with those of `own` before the others that score alike, which is: within ALIKE of the
    best of them."""
    ordered: list[str] = []
    alike: list[str] = []
    for chunk_id in ranking:
        if alike and scores[alike[0]] - scores[chunk_id] > ALIKE:
            ordered += sorted(alike, key=lambda key: key not in own)
            alike = []
        alike.append(chunk_id)
    return ordered + sorted(alike, key=lambda key: key not in own)


def zscore_sum(
    dense: Leg, bm25: Leg, *, dense_weight: float = 1.0, bm25_floor: float = 0.0
) -> dict[str, float]:
    """Both legs standardised (mean 0, deviation 1 over the candidates), then summed by weight, that of BM25 being 1.

    A leg that found nothing at all, or was not asked, changes no score.
    """
    total = dict.fromkeys({**dense, **bm25}, 0.0)
    for leg, weight, floor in (
        (dense, dense_weight, min(dense.values(), default=0.0)),
        (bm25, 1.0, bm25_floor),
    ):
        if leg:
            values = [leg.get(chunk_id, floor) for chunk_id in total]
            for chunk_id, value in zip(total, _zscores(values), strict=True):
                total[chunk_id] += weight * value
    return total


def lower_repeats(
    scores: Leg, document_of: Mapping[str, str], *, penalty: float
) -> dict[str, float]:
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
