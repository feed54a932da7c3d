"""Effectiveness by ir-measures (trec_eval's definitions), and latency percentiles.

Judgements are query id → document id → grade; rankings query id → document ids, best first, each once. A query that
found nothing counts 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

RECALL_DEPTH = 100
Qrels = Mapping[str, Mapping[str, int]]
Rankings = Mapping[str, Sequence[str]]


def measure(qrels: Qrels, rankings: Rankings, *, k: int) -> dict[str, float]:
    """The metrics, 0..1, averaged over the queries of `qrels`."""
    from ir_measures import RR, R, calc_aggregate, nDCG

    measures = {
        f"ndcg@{k}": nDCG @ k,
        f"recall@{k}": R @ k,
        f"recall@{RECALL_DEPTH}": R @ RECALL_DEPTH,
        "mrr": RR,
    }
    means = calc_aggregate(list(measures.values()), qrels, _run(rankings)) if qrels else {}
    return {name: float(means.get(measured, 0.0)) for name, measured in measures.items()}


def ndcg(qrels: Qrels, rankings: Rankings, *, k: int) -> dict[str, float]:
    """nDCG@k, 0..1, of each query of `rankings`; 0 also for one that has no `qrels`."""
    from ir_measures import iter_calc, nDCG

    values = {
        metric.query_id: float(metric.value)
        for metric in iter_calc([nDCG @ k], qrels, _run(rankings))
    }
    return {query: values.get(query, 0.0) for query in rankings}


def _run(rankings: Rankings) -> dict[str, dict[str, float]]:
    return {
        query: {key: float(-at) for at, key in enumerate(keys)} for query, keys in rankings.items()
    }


def latency(milliseconds: Sequence[float]) -> dict[str, float]:
    """`p50_ms`, `p95_ms`."""
    p50, p95 = np.percentile(milliseconds or [0.0], [50, 95])
    return {"p50_ms": round(float(p50), 2), "p95_ms": round(float(p95), 2)}
