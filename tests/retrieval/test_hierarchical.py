"""Hierarchical search over a real Milvus Lite: summaries find documents, then chunks inside them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ragsite.core.rag_settings import SearchSettings
from retrieval.ports import SearchRequest, SearchResult
from retrieval.providers.lexical import SPACE, LexicalEmbedder, embed_texts
from retrieval.search.hybrid import NO_DOCUMENT, HybridSearcher
from retrieval.search.index import MilvusIndex
from retrieval.text.analysis import terms_text
from retrieval.values import (
    SUMMARY_SEQ,
    CollectionRef,
    EmbeddingSpace,
    IndexRow,
    Query,
    SearchFilters,
    SearchScope,
    StoredChunk,
)

SUMMARIES = {
    "library": "Rules of the library: loans, reading rooms and fees.",
    "canteen": "Opening hours, prices and menus of the canteen.",
}
CHUNKS = {
    "library": ("The building has three floors.", "A deposit of ten euros is due.", "Books are lent for four weeks."),
    "canteen": ("Trays stand at the entrance.", "A deposit of two euros is due for a cup.", "Lunch begins at eleven."),
}


class Embedders:
    async def embedder(self, space: EmbeddingSpace) -> Any:
        return LexicalEmbedder()


@dataclass
class Shelf:
    """Documents in an index, and the searcher over them."""

    index: MilvusIndex
    settings: SearchSettings = field(default_factory=SearchSettings)
    chunks: dict[str, StoredChunk] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    ref: CollectionRef = field(default_factory=lambda: CollectionRef(id=str(uuid.uuid4()), name="c", space=SPACE))

    async def add(
        self, name: str, texts: Sequence[str], summary: str = "", ref: CollectionRef | None = None, department: str = ""
    ) -> None:
        document_id = self.documents[name] = str(uuid.uuid4())
        collection_id = (ref or self.ref).id
        rows = [(SUMMARY_SEQ, document_id, summary)] if summary else []
        rows += [(seq, str(uuid.uuid4()), text) for seq, text in enumerate(texts)]
        written = []
        for (seq, key, text), vector in zip(rows, embed_texts([text for _, _, text in rows]), strict=True):
            common: dict[str, Any] = {
                "chunk_id": key, "document_id": document_id, "collection_id": collection_id, "seq": seq,
                "department": department,
            }  # fmt: skip
            written.append(IndexRow(**common, terms=terms_text(text), vector=vector))
            if seq != SUMMARY_SEQ:
                self.chunks[key] = StoredChunk(**common, title=name, text=text)
        await self.index.upsert(SPACE, written)

    async def fetch(self, chunk_ids: Sequence[str], *, scope: SearchScope) -> Mapping[str, StoredChunk]:
        return {
            key: self.chunks[key]
            for key in chunk_ids
            if key in self.chunks and self.chunks[key].collection_id in scope.ids
        }

    async def search(self, text: str, strategy: str = "hierarchical", **options: Any) -> SearchResult:
        hybrid = HybridSearcher(index=self.index, store=self, models=Embedders(), settings=self.settings)  # type: ignore[arg-type]
        request = SearchRequest(queries=(Query(text),), scope=SearchScope((self.ref,)), strategy=strategy, **options)  # type: ignore[arg-type]
        return await hybrid.search(request)


@pytest.fixture
async def shelf(index: MilvusIndex, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setattr("retrieval.search.hybrid.HIERARCHICAL_DOCUMENTS", 1)
    shelf = Shelf(index)
    for name, texts in CHUNKS.items():
        await shelf.add(name, texts, SUMMARIES[name])
    return shelf


def titles(result: SearchResult) -> set[str]:
    return {candidate.chunk.title for candidate in result.candidates}


async def test_chunks_come_from_the_documents_whose_summary_fits(shelf: Shelf) -> None:
    flat = await shelf.search("deposit in the library", strategy="chunks", top_k=6)
    assert titles(flat) == {"library", "canteen"}
    found = await shelf.search("deposit in the library", top_k=6)
    assert titles(found) == {"library"}
    assert found.candidates[0].chunk.text == CHUNKS["library"][1]
    assert found.notes["documents"] == [shelf.documents["library"]]
    assert found.degraded == ()


async def test_summaries_are_never_candidates(shelf: Shelf) -> None:
    for strategy in ("chunks", "hierarchical"):
        found = await shelf.search("rules of the library: loans and fees", strategy=strategy, top_k=10)
        assert found.candidates
        assert all("summary" not in candidate.chunk.text for candidate in found.candidates)
        assert all(candidate.chunk.seq >= 0 for candidate in found.candidates)


async def test_a_document_without_a_summary_is_found_by_its_first_chunk(shelf: Shelf) -> None:
    await shelf.add("parking", ["Cars are parked behind the sports hall."])
    assert titles(await shelf.search("Where are cars parked?")) == {"parking"}


async def test_documents_outside_the_scope_are_not_looked_into(shelf: Shelf) -> None:
    private = CollectionRef(id=str(uuid.uuid4()), name="private", space=SPACE)
    await shelf.add("secret", ["Start.", "The library code is 4711."], "The library and its codes.", ref=private)
    found = await shelf.search("code of the library")
    assert shelf.documents["secret"] not in found.notes["documents"]  # type: ignore[operator]
    assert "secret" not in titles(found)


async def test_filters_hold_for_documents_and_their_chunks(shelf: Shelf) -> None:
    await shelf.add("labs", ["Start.", "Keys need a deposit."], "Rules of the labs.", department="Chemistry")
    strict = await shelf.search("deposit in the library", filters=SearchFilters(department="Chemistry"))
    assert titles(strict) == {"labs"}
    nothing = await shelf.search("deposit in the library", filters=SearchFilters(department="Physics"))
    assert nothing.candidates == ()


async def test_without_a_fitting_summary_all_chunks_are_searched_and_it_says_so(shelf: Shelf) -> None:
    found = await shelf.search("eleven", stages=("bm25",))
    assert titles(found) == {"canteen"}
    assert found.degraded == (NO_DOCUMENT,)
