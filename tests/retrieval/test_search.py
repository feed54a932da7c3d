"""Hybrid and hierarchical search over a real Milvus Lite, with the built-in embedding model."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ragsite.core.search_settings import SearchSettings
from retrieval.engine.ports import SearchRequest, SearchResult
from retrieval.engine.providers.builtin import BUILTIN_SPACE as BUILTIN
from retrieval.engine.providers.builtin import BuiltinEmbedder, embed_texts
from retrieval.engine.search.hybrid import HybridSearcher
from retrieval.engine.search.milvus.index import MilvusIndex
from retrieval.engine.search.space_search import SpaceSearcher
from retrieval.engine.text.analysis import terms_text
from retrieval.engine.values import (
    SUMMARY_SEQ,
    CollectionRef,
    EmbeddingSpace,
    IndexRow,
    Query,
    SearchFilters,
    SearchScope,
    StoredChunk,
)  # fmt: skip


def collection(name: str) -> CollectionRef:
    return CollectionRef(id=str(uuid.uuid4()), name=name, space=BUILTIN)


@dataclass
class Library:
    """Documents in an index, their texts, and the searcher over them."""

    index: MilvusIndex
    chunks: dict[str, StoredChunk] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    ref: CollectionRef = field(default_factory=lambda: collection("c"))

    async def embedder(self, space: EmbeddingSpace) -> BuiltinEmbedder:
        return BuiltinEmbedder()

    async def fetch(
        self, chunk_ids: Sequence[str], *, scope: SearchScope
    ) -> Mapping[str, StoredChunk]:
        return {
            i: self.chunks[i]
            for i in chunk_ids
            if i in self.chunks and self.chunks[i].collection_id in scope.ids
        }

    async def add(
        self,
        title: str,
        *texts: str,
        summary: str = "",
        ref: CollectionRef | None = None,
        **metadata: Any,
    ) -> None:
        """A document with a chunk for each text."""
        ref = ref or self.ref
        document_id = self.documents[title] = str(uuid.uuid4())
        rows = [(SUMMARY_SEQ, document_id, summary)] if summary else []
        rows += [(seq, str(uuid.uuid4()), text) for seq, text in enumerate(texts)]
        written = []
        for (seq, key, text), vector in zip(
            rows, embed_texts([text for *_, text in rows]), strict=True
        ):
            common = {
                "chunk_id": key,
                "document_id": document_id,
                "collection_id": ref.id,
                "seq": seq,
                **metadata,
            }
            written.append(IndexRow(**common, terms=terms_text(text), vector=vector))
            if seq != SUMMARY_SEQ:
                self.chunks[key] = StoredChunk(**common, title=title, text=text)
        assert ref.space
        await self.index.upsert(ref.space, written)

    async def search(self, query: str, **options: Any) -> SearchResult:
        parts: Any = self
        searcher = HybridSearcher(
            SpaceSearcher(index=self.index, store=parts, models=parts, settings=SearchSettings())
        )
        scope = SearchScope((self.ref,))
        return await searcher.search(SearchRequest(queries=(Query(query),), scope=scope, **options))


def titles(result: SearchResult) -> list[str]:
    return [candidate.chunk.title for candidate in result.candidates]


# ------------------------------------------------------------------------------------------------ by summaries
RULES = (
    "The building has three floors.",
    "A deposit of ten euros is due.",
    "Books are lent for four weeks.",
)
MENU = (
    "Trays stand at the entrance.",
    "A deposit of two euros is due for a cup.",
    "Lunch begins at eleven.",
)


@pytest.fixture
async def shelf(index: MilvusIndex, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr("retrieval.engine.search.hybrid.HIERARCHICAL_DOCUMENTS", 1)
    shelf = Library(index)
    await shelf.add(
        "library", *RULES, summary="Rules of the library: loans, reading rooms and fees."
    )
    await shelf.add("canteen", *MENU, summary="Opening hours, prices and menus of the canteen.")
    return shelf


async def test_chunks_come_from_the_documents_whose_summary_fits(shelf: Library) -> None:
    assert set(titles(await shelf.search("deposit in the library", top_k=6))) == {
        "library",
        "canteen",
    }
    found = await shelf.search("deposit in the library", strategy="hierarchical", top_k=6)
    assert set(titles(found)) == {"library"}
    assert found.candidates[0].chunk.text == RULES[1]
    assert found.notes["documents"] == [shelf.documents["library"]]


@pytest.mark.parametrize("strategy", ["chunks", "hierarchical"])
async def test_summaries_are_never_candidates(shelf: Library, strategy: str) -> None:
    found = await shelf.search("rules of the library: loans and fees", strategy=strategy, top_k=10)
    assert found.candidates
    assert all(candidate.chunk.seq >= 0 for candidate in found.candidates)


async def test_documents_outside_the_scope_are_not_looked_into(shelf: Library) -> None:
    secret = ("Start.", "The library code is 4711.")
    await shelf.add(
        "secret", *secret, summary="The library and its codes.", ref=collection("private")
    )
    found = await shelf.search("code of the library", strategy="hierarchical")
    assert shelf.documents["secret"] not in str(found.notes["documents"])
    assert "secret" not in titles(found)


async def test_filters_hold_for_documents_and_their_chunks(shelf: Library) -> None:
    await shelf.add(
        "labs",
        "Start.",
        "Keys need a deposit.",
        summary="Rules of the labs.",
        department="Chemistry",
    )
    for department, expected in (("Chemistry", {"labs"}), ("Physics", set())):
        filters = SearchFilters(department=department)
        found = await shelf.search(
            "deposit in the library", strategy="hierarchical", filters=filters
        )
        assert set(titles(found)) == expected
