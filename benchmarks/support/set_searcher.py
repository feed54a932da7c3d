"""A labelled set as what a workflow searches in: exact, in memory, without an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.support.labelled_sets import LabelledSet, ranked
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.search.fusion import best_first, rrf_scores
from retrieval.engine.text.analysis import query_terms
from retrieval.engine.values import ScoredChunk, Scores, SearchScope


@dataclass
class SetSearcher:
    """In place of `HybridSearcher`, over one labelled set. `at`: the question asked, `without`: what is hidden."""

    labelled: LabelledSet
    dense: bool
    at: int = 0
    without: set[int] = field(default_factory=set)

    async def search(self, request: SearchRequest) -> SearchResult:
        """The variants' BM25 lists, each joined with the question's own vector, by reciprocal rank."""
        found, cosine = self.labelled, None
        if self.dense and "dense" in request.stages:
            assert found.document_vectors is not None and found.query_vectors is not None
            cosine = found.document_vectors @ found.query_vectors[self.at]
        legs = [found.bm25.score(query_terms(query.text)) for query in request.queries if not query.vector_only]
        rankings = [ranked(leg, cosine, self.without, pool=request.top_k) for leg in legs]
        fused = rrf_scores([[found.chunks[place].chunk_id for place in ranking] for ranking in rankings])
        places = [found.place[chunk_id] for chunk_id in best_first(fused)[: request.top_k]]
        bm25 = np.max(legs, axis=0)
        return SearchResult(
            candidates=tuple(
                ScoredChunk(
                    chunk=found.chunks[place],
                    scores=Scores(dense=None if cosine is None else float(cosine[place]), bm25=float(bm25[place])),
                )
                for place in places
            )
        )

    async def is_whole(self, scope: SearchScope) -> bool:
        return True

    async def holds_any(self, terms: Sequence[str], scope: SearchScope) -> bool:
        return bool(np.max(self.labelled.bm25.score(terms)) > 0.0)


def gold(labelled: LabelledSet, at: int) -> set[int]:
    return labelled.answers.get(labelled.queries[at]["id"], set())
