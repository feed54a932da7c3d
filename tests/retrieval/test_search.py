"""Hybrid search over a real Milvus Lite, with the lexical embedder."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ragsite.core.rag_settings import SearchSettings
from retrieval.errors import EmbeddingUnavailableError, IndexUnavailableError, InvalidQueryError
from retrieval.ports import SearchRequest, SearchResult
from retrieval.providers.lexical import SPACE as LEXICAL
from retrieval.providers.lexical import LexicalEmbedder, embed_texts
from retrieval.search.hybrid import HybridSearcher
from retrieval.search.index import MilvusIndex
from retrieval.search.queries import query_groups
from retrieval.text.analysis import terms_text
from retrieval.values import (
    CollectionRef,
    EmbeddingSpace,
    IndexRow,
    Query,
    SearchFilters,
    SearchScope,
    StoredChunk,
)

OTHER_SPACE = EmbeddingSpace("other", LEXICAL.dim)
TEXTS = {
    "loans": "Undergraduates may borrow ten books from the library for four weeks.",
    "fees": "Late return of library books costs one euro a day.",
    "exams": "Examinations are announced on the notice board two weeks before.",
    "pods": "ImagePullBackOff means that the container image could not be pulled.",
    "hours": "圖書館的開放時間為每天早上八點至晚上十點。",
}


class OneEmbedder:
    """Models with the lexical embedder for every space, or none."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem
        self.calls: list[list[str]] = []

    async def embedder(self, space: EmbeddingSpace) -> Any:
        if self.problem:
            raise EmbeddingUnavailableError(self.problem)
        return self

    async def embed_queries(self, texts: Sequence[str]) -> Any:
        self.calls.append(list(texts))
        return await LexicalEmbedder().embed_queries(texts)


@dataclass
class Store:
    """Chunks by id; `fetched` counts what was read."""

    chunks: dict[str, StoredChunk] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    async def fetch(self, chunk_ids: Sequence[str], *, scope: SearchScope) -> Mapping[str, StoredChunk]:
        self.fetched.extend(chunk_ids)
        return {i: self.chunks[i] for i in chunk_ids if i in self.chunks and self.chunks[i].collection_id in scope.ids}

    async def vocabulary(self, scope: SearchScope) -> Any:
        raise NotImplementedError


@dataclass
class Library:
    """An index and store with texts, and the searcher over them."""

    index: MilvusIndex
    store: Store = field(default_factory=Store)
    models: OneEmbedder = field(default_factory=OneEmbedder)
    settings: SearchSettings = field(default_factory=SearchSettings)
    ref: CollectionRef = field(default_factory=lambda: CollectionRef(id=str(uuid.uuid4()), name="c", space=LEXICAL))

    async def add(
        self, texts: Mapping[str, str], ref: CollectionRef | None = None, **metadata: Any
    ) -> Mapping[str, str]:
        """name → chunk id"""
        ref = ref or self.ref
        ids = {name: str(uuid.uuid4()) for name in texts}
        rows = []
        for (name, text), vector in zip(texts.items(), embed_texts(list(texts.values())), strict=True):
            common = {"chunk_id": ids[name], "document_id": str(uuid.uuid4()), "collection_id": ref.id, "seq": 0}
            rows.append(IndexRow(**common, terms=terms_text(text), vector=vector, **metadata))
            self.store.chunks[ids[name]] = StoredChunk(**common, title=name, text=text, **metadata)
        assert ref.space
        await self.index.upsert(ref.space, rows)
        return ids

    async def search(self, *queries: str | Query, refs: Sequence[CollectionRef] = (), **options: Any) -> SearchResult:
        searcher = HybridSearcher(
            index=self.index,
            store=self.store,
            models=self.models,  # type: ignore[arg-type]
            settings=self.settings,
        )
        asked = tuple(Query(query) if isinstance(query, str) else query for query in queries)
        scope = SearchScope(tuple(refs) or (self.ref,))
        return await searcher.search(SearchRequest(queries=asked, scope=scope, **options))


@pytest.fixture
def library(index: MilvusIndex) -> Library:
    return Library(index)


def names(result: SearchResult) -> list[str]:
    return [candidate.chunk.title for candidate in result.candidates]


async def test_both_legs_find_and_their_scores_are_kept(library: Library) -> None:
    await library.add(TEXTS)
    result = await library.search("How many books may I borrow from the library?", top_k=3)
    assert names(result)[0] == "loans"
    best = result.candidates[0]
    assert best.ranks == {"original:dense": 1, "original:bm25": 1}
    assert best.scores.dense is not None and 0 < best.scores.dense <= 1
    assert best.scores.bm25 is not None and best.scores.bm25 > 0
    assert best.scores.fused == best.scores.final
    assert {"embed", "dense", "bm25", "fetch", "total"} <= set(result.timings_ms)
    assert result.degraded == ()


async def test_simplified_questions_find_traditional_texts(library: Library) -> None:
    await library.add(TEXTS)
    assert names(await library.search("图书馆几点开放", top_k=1)) == ["hours"]


WORDINGS = (Query("borrow books"), Query("library loans", kind="rewrite"), Query("late books", kind="rewrite"))


async def test_wordings_of_a_question_are_embedded_in_one_call_and_asked_as_one_text(library: Library) -> None:
    await library.add(TEXTS)
    result = await library.search(*WORDINGS, top_k=3)
    assert library.models.calls == [["borrow books", "library loans", "late books"]]
    assert set(result.candidates[0].ranks) == {"original:bm25", "original:dense"}


async def test_the_text_of_several_wordings_scores_like_the_mean_of_them(library: Library) -> None:
    await library.add(TEXTS)
    alone = [await library.search(query, stages=("bm25",), top_k=5) for query in WORDINGS]
    together = await library.search(*WORDINGS, stages=("bm25",), top_k=5)
    for candidate in together.candidates:
        scores = [
            next((c.scores.bm25 or 0.0 for c in one.candidates if c.chunk_id == candidate.chunk_id), 0.0)
            for one in alone
        ]
        assert candidate.scores.bm25 == pytest.approx(0.5 * scores[0] + 0.25 * scores[1] + 0.25 * scores[2], rel=1e-4)


@pytest.mark.parametrize(("question", "times"), [("2022年世界杯冠军", 3), ("Who won the world cup of 2022?", 1)])
def test_the_year_of_a_chinese_question_weighs_like_three_words(question: str, times: int) -> None:
    (group,) = query_groups([Query(question)])
    counts = Counter(group.text.split())
    assert counts.pop("2022") == times
    assert set(counts.values()) == {1}


async def test_parts_of_a_compound_question_keep_their_own_lists_joined_by_rank(library: Library) -> None:
    await library.add(TEXTS)
    parts = (Query("When is the library open?", kind="sub_query"), Query("What is ImagePullBackOff?", kind="sub_query"))
    result = await library.search("library hours and ImagePullBackOff", *parts, top_k=5)
    legs = {leg for candidate in result.candidates for leg in candidate.ranks}
    assert {"original:bm25", "sub_query:bm25", "sub_query2:bm25"} <= legs
    fused = result.candidates[0].scores.fused
    assert fused is not None and fused <= 3 / 61


async def test_hypothetical_answers_stay_out_of_text_search(library: Library) -> None:
    await library.add(TEXTS)
    result = await library.search("x-ray", Query("ImagePullBackOff image", kind="hyde", vector_only=True), top_k=5)
    pods = next(candidate for candidate in result.candidates if candidate.chunk.title == "pods")
    assert set(pods.ranks) == {"original:dense"}


async def test_without_vectors_text_search_goes_on_and_says_so(library: Library) -> None:
    await library.add(TEXTS)
    library.models.problem = "Ollama is not reachable"
    result = await library.search("library books", top_k=2)
    assert set(names(result)) == {"loans", "fees"}
    assert result.degraded == ("no vectors, text search alone: Ollama is not reachable",)
    assert result.candidates[0].scores.dense is None


async def test_vectors_alone_that_can_not_be_had_are_an_error(library: Library) -> None:
    await library.add(TEXTS)
    library.models.problem = "gone"
    with pytest.raises(EmbeddingUnavailableError):
        await library.search("library", stages=("dense",))


async def test_one_stage_alone_can_be_asked_for(library: Library) -> None:
    await library.add(TEXTS)
    text = await library.search("library books", stages=("bm25",))
    assert library.models.calls == []
    assert set(names(text)) == {"loans", "fees"}
    vectors = await library.search("library books", stages=("dense",))
    assert len(vectors.candidates) == len(TEXTS)
    assert vectors.candidates[0].scores.bm25 is None


@pytest.mark.parametrize("query", ["", "   \n\t", "\x00\x07\ufeff"])
async def test_an_empty_query_is_refused(library: Library, query: str) -> None:
    with pytest.raises(InvalidQueryError):
        await library.search(query)


@pytest.mark.parametrize(
    "query", ["😀🎉", "a", "?!", "library " * 1250, "'; DROP TABLE chunks; --", '" or 1 == 1 or "', "books\x00\ud800"]
)
async def test_odd_queries_give_a_sensible_answer(library: Library, query: str) -> None:
    await library.add(TEXTS)
    result = await library.search(query, top_k=2)
    assert len(result.candidates) <= 2


async def test_an_empty_scope_finds_nothing(library: Library) -> None:
    await library.add(TEXTS)
    empty = CollectionRef(id=str(uuid.uuid4()), name="new", space=None)
    assert (await library.search("library", refs=[empty])).candidates == ()


async def test_collections_outside_the_scope_are_never_found(library: Library) -> None:
    private = CollectionRef(id=str(uuid.uuid4()), name="private", space=LEXICAL)
    await library.add({"secret": "the library code is 4711"}, ref=private)
    await library.add(TEXTS)
    assert "secret" not in names(await library.search("library code 4711", top_k=10))
    assert "secret" in names(await library.search("library code 4711", refs=[library.ref, private]))


async def test_filters_are_never_relaxed_by_the_search(library: Library) -> None:
    await library.add(TEXTS, department="Library", policy_year=2025)
    assert (await library.search("library books", filters=SearchFilters(department="Library"))).candidates
    filters = SearchFilters(department="Library", policy_year=1999).in_mode("prefer")
    assert (await library.search("library books", filters=filters)).candidates == ()


async def test_a_text_is_shown_once_and_deleted_chunks_never(library: Library) -> None:
    ids = await library.add({"one": TEXTS["loans"], "copy": TEXTS["loans"].upper(), "gone": "borrow books", **TEXTS})
    del library.store.chunks[ids["gone"]]
    found = names(await library.search("borrow ten books", top_k=10))
    assert "gone" not in found
    assert len({"one", "copy", "loans"} & set(found)) == 1


async def test_spaces_are_searched_together_and_merged_by_rank(library: Library) -> None:
    other = CollectionRef(id=str(uuid.uuid4()), name="other", space=OTHER_SPACE)
    await library.add(TEXTS)
    await library.add({"other": "Books of the other library may be borrowed too."}, ref=other)
    result = await library.search("borrow library books", refs=[library.ref, other], top_k=3)
    assert {"loans", "other"} <= set(names(result))
    assert result.notes["spaces"] == 2


async def test_texts_are_read_for_the_best_alone(library: Library) -> None:
    await library.add({f"t{n}": f"library book number {n}" for n in range(40)})
    await library.search("library book", top_k=2)
    assert len(library.store.fetched) < 15


async def test_the_window_follows_the_length_of_the_query(library: Library) -> None:
    await library.add(TEXTS)
    short = await library.search("library books", top_k=2)
    long = await library.search("library books borrowed late examination", top_k=2)
    assert (short.notes["window"], long.notes["window"]) == (100, 60)


async def test_the_seeds_formula_filters_by_terms_and_adds_raw_scores(library: Library) -> None:
    library.settings = library.settings.replace(formula="seed")
    await library.add(TEXTS)
    result = await library.search("library books", top_k=5)
    assert set(names(result)) == {"loans", "fees"}
    scores = result.candidates[0].scores
    assert scores.dense is not None and scores.bm25 is not None
    assert scores.fused == pytest.approx(0.2 * scores.dense + 1.0 * scores.bm25)


async def test_the_seeds_filter_is_relaxed_step_by_step_for_long_queries(library: Library) -> None:
    library.settings = library.settings.replace(formula="seed")
    await library.add(TEXTS)
    every = await library.search("undergraduates borrow ten books", top_k=5)
    assert (names(every), every.notes["match"]) == (["loans"], 1.0)
    some = await library.search("undergraduates borrow ten bicycles zebras", top_k=5)
    assert (names(some), some.notes["match"]) == (["loans"], 0.5)
    none = await library.search("zebra giraffe lion tiger", top_k=5)
    assert none.notes["match"] == 0.0
    assert none.candidates


async def test_a_dead_index_is_an_error_not_an_empty_answer(library: Library) -> None:
    library.index = MilvusIndex(
        library.index._settings, uri="http://127.0.0.1:9", writer_lock=library.index._writer_lock
    )
    with pytest.raises(IndexUnavailableError):
        await library.search("library")
    await library.index.close()
