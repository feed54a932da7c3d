"""Hierarchical search: documents by their summaries first, then chunks inside those documents.

    question ─► summaries and first chunks (both legs) ─► the best documents ─► chunks of these alone (both legs)

Source: seed 001 (`hierarchical_search`); coarse to fine as in RAPTOR (Sarthi et al., ICLR 2024) with one level. A
summary is made at the ingest without a model (`retrieval.ingest.summary`) and stands in the index as a row of its own;
a document without one, for it has one chunk alone or was read before there were summaries, is found by its first chunk.
Permission and filters hold in both rounds.
"""

from __future__ import annotations

from dataclasses import replace

from retrieval.ports import SearchRequest, SearchResult
from retrieval.search.hybrid import DocumentRanking, HybridSearcher

HIERARCHICAL_DOCUMENTS = 10  # documents that hierarchical search looks into

NO_DOCUMENT = "no document's summary fits the question: all chunks were searched"


class HierarchicalSearcher:
    """`retrieval.ports.Searcher` that serves both strategies of a request; plain ones go straight on."""

    def __init__(self, chunks: HybridSearcher) -> None:
        self._chunks = chunks

    async def search(self, request: SearchRequest) -> SearchResult:
        """As `HybridSearcher.search`; `notes["documents"]` names the documents that were looked into.

        Where no document is found, all chunks are searched, and `degraded` says so.
        """
        if request.strategy != "hierarchical":
            return await self._chunks.search(request)
        documents = await self._chunks.find_documents(request)
        chosen = documents.document_ids[:HIERARCHICAL_DOCUMENTS]
        inside = replace(request, document_ids=chosen, filters=documents.filters)
        found = await self._chunks.search(inside if chosen else request)
        return _told(found, documents, chosen)


def _told(found: SearchResult, documents: DocumentRanking, chosen: tuple[str, ...]) -> SearchResult:
    timings = dict(found.timings_ms) | {"documents": documents.timings_ms["documents"]}
    timings["total"] = round(timings["total"] + timings["documents"], 2)
    return replace(
        found,
        timings_ms=timings,
        relaxed=(*documents.relaxed, *found.relaxed),
        degraded=found.degraded if chosen else (*found.degraded, NO_DOCUMENT),
        notes={**found.notes, "strategy": "hierarchical", "documents": list(chosen)},
    )
