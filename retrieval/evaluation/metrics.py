"""Effectiveness by ir-measures (trec_eval's definitions), and latency percentiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

RECALL_DEPTH = 100
Qrels = Mapping[str, Mapping[str, int]]


def measure(qrels: Qrels, rankings: Mapping[str, Sequence[str]], *, k: int) -> dict[str, float]:
    """The metrics, 0..1, averaged over the queries of `rankings`.

    rankings: query id → document ids, best first, each once. A query that found nothing counts 0.
    """
    from ir_measures import RR, R, nDCG

    wanted = {f"ndcg@{k}": nDCG @ k, f"recall@{k}": R @ k, f"recall@{RECALL_DEPTH}": R @ RECALL_DEPTH, "mrr": RR}
    values: dict[Any, list[float]] = {measured: [] for measured in wanted.values()}
    for metric in _by_query(list(values), qrels, rankings):
        values[metric.measure].append(float(metric.value))
    return {name: math.fsum(values[measured]) / max(1, len(rankings)) for name, measured in wanted.items()}


def ndcg(qrels: Qrels, rankings: Mapping[str, Sequence[str]], *, k: int) -> dict[str, float]:
    """nDCG@k, 0..1, of each query of `rankings`; 0 for a query that found nothing or has no `qrels`."""
    from ir_measures import nDCG

    values = {metric.query_id: float(metric.value) for metric in _by_query([nDCG @ k], qrels, rankings)}
    return {query: values.get(query, 0.0) for query in rankings}


def _by_query(measures: Sequence[Any], qrels: Qrels, rankings: Mapping[str, Sequence[str]]) -> Iterable[Any]:
    import ir_measures

    judged = [
        ir_measures.Qrel(query, document, grade)
        for query in rankings
        for document, grade in qrels.get(query, {}).items()
    ]
    run = [
        ir_measures.ScoredDoc(query, document, float(-rank))
        for query, documents in rankings.items()
        for rank, document in enumerate(documents)
    ]
    return ir_measures.iter_calc(measures, judged, run) if rankings else ()


def by_best_chunk(document_ids: Iterable[str]) -> list[str]:
    """The documents of ranked chunks, each where its best chunk stands."""
    return list(dict.fromkeys(document_ids))


def latency(milliseconds: Sequence[float]) -> dict[str, float]:
    """`p50_ms`, `p95_ms`."""
    if not milliseconds:
        return {"p50_ms": 0.0, "p95_ms": 0.0}
    p50, p95 = np.percentile(np.asarray(milliseconds), [50, 95])
    return {"p50_ms": round(float(p50), 2), "p95_ms": round(float(p95), 2)}
