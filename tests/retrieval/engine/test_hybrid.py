"""Hybrid search on legs that are given: what each is asked, and what becomes of what it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from ragsite.core.search_settings import SearchSettings
from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.ports import LegHit, SearchRequest, SearchResult
from retrieval.engine.search.hybrid import HybridSearcher
from retrieval.engine.search.query_groups import (
    MAX_QUERY_CHARS,
    WHOLE_WORD_WEIGHT,
    QueryGroup,
    query_groups,
    query_text,
)
from retrieval.engine.search.space_search import REPEAT_PENALTY, SpaceSearcher
from retrieval.engine.values import (
    CollectionRef,
    EmbeddingSpace,
    Query,
    SearchFilters,
    SearchScope,
    StoredChunk,
)

SPACE, OTHER = EmbeddingSpace("m", 2), EmbeddingSpace("n", 2)
REF = CollectionRef(id="c1", name="c", space=SPACE)
IDS = [f"k{number}" for number in range(150)]


@dataclass
class Parts:
    """Index, store and models in one. Both legs find `ids`, in their order, in every space, or what `legs` holds for
    one group of queries after the other; texts are the ids."""

    legs: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)
    ids: Sequence[str] = ("k0", "k1", "k2", "k3")
    texts: Mapping[str, str] = field(default_factory=dict)
    gone: Sequence[str] = ()
    failing: bool = False
    filtered: int = 0  # how many are found under filters
    asked: list[dict[str, Any]] = field(default_factory=list)
    embedded: list[list[str]] = field(default_factory=list)

    def hits(
        self, leg: str, space: EmbeddingSpace, count: int, limit: int, rows: dict[str, Any]
    ) -> list[list[LegHit]]:
        self.asked.append({"leg": leg, "space": space, "limit": limit, **rows})
        found = self.ids[: self.filtered] if rows["filters"] else self.ids[:limit]
        legs = (
            self.legs.get(leg)
            or [{key: 1.0 - 0.001 * rank for rank, key in enumerate(found)}] * count
        )
        return [
            [LegHit(key, self.documents.get(key, f"d{key}"), score) for key, score in one.items()]
            for one in legs
        ]

    async def search_dense(
        self, space: EmbeddingSpace, vectors: Any, *, limit: int, **rows: Any
    ) -> list[list[LegHit]]:
        return self.hits("dense", space, len(vectors), limit, rows)

    async def search_bm25(
        self, space: EmbeddingSpace, texts: Sequence[str], *, limit: int, **rows: Any
    ) -> list[list[LegHit]]:
        return self.hits("bm25", space, len(texts), limit, rows)

    async def embedder(self, space: EmbeddingSpace) -> Parts:
        if self.failing:
            raise EmbeddingUnavailableError("away")
        return self

    async def embed_queries(self, texts: Sequence[str]) -> Any:
        self.embedded.append(list(texts))
        return np.ones((len(texts), 2), dtype=np.float32)

    async def fetch(
        self, chunk_ids: Sequence[str], *, scope: SearchScope
    ) -> Mapping[str, StoredChunk]:
        return {
            key: StoredChunk(
                chunk_id=key,
                document_id=f"d{key}",
                collection_id="c1",
                seq=0,
                title="",
                text=self.texts.get(key, key),
            )
            for key in chunk_ids
            if key not in self.gone
        }


async def search(
    parts: Parts,
    *queries: str | Query,
    refs: Sequence[CollectionRef] = (REF,),
    settings: Any = None,
    **options: Any,
) -> SearchResult:
    searcher: Any = HybridSearcher(
        SpaceSearcher(
            index=parts,  # type: ignore[arg-type]
            store=parts,  # type: ignore[arg-type]
            models=parts,  # type: ignore[arg-type]
            settings=SearchSettings(**{"max_top_k": 5, **(settings or {})}),
        )
    )
    asked = tuple(
        query if isinstance(query, Query) else Query(query, kind="rewrite" if at else "original")
        for at, query in enumerate(queries or ("books",))
    )
    result: SearchResult = await searcher.search(
        SearchRequest(queries=asked, scope=SearchScope(tuple(refs)), **options)
    )
    return result


def ids(result: SearchResult) -> list[str]:
    return [candidate.chunk_id for candidate in result.candidates]


async def test_several_wordings_are_embedded_in_one_call_and_searched_as_one() -> None:
    parts = Parts()
    result = await search(parts, "books", "loans", "volumes", "shelves", top_k=2)
    assert parts.embedded == [["books", "loans", "volumes", "shelves"]]
    assert [asked["leg"] for asked in parts.asked] == ["dense", "bm25"]
    assert result.candidates[0].ranks == {"original:dense": 1, "original:bm25": 1}


@pytest.mark.parametrize(("top_k", "found"), [(0, 1), (1, 1), (3, 3), (5, 5), (6, 5)])
async def test_the_number_of_candidates_is_held_to_its_bounds(top_k: int, found: int) -> None:
    assert len((await search(Parts(ids=IDS[:20]), top_k=top_k)).candidates) == found


async def test_a_text_is_given_once_whatever_its_case_and_spaces_and_what_is_gone_never() -> None:
    parts = Parts(ids=IDS[:6], texts={"k1": "K 0", "k3": "k\n2"}, gone=["k4"])
    assert ids(await search(parts, top_k=5)) == ["k0", "k2", "k5"]


async def test_what_follows_the_candidates_down_to_the_hundredth_may_be_lifted() -> None:
    result = await search(Parts(ids=IDS), "books", top_k=3)
    assert [hit.chunk_id for hit in result.tail_hits] == IDS[3:100]
    assert result.tail_hits[0].document_id == "dk3"


@pytest.mark.parametrize("found", [0, 1])
async def test_filters_hold_however_little_they_leave(found: int) -> None:
    result = await search(
        Parts(filtered=found), filters=SearchFilters(department="Library").in_mode("prefer")
    )
    assert (len(result.candidates), result.relaxed) == (found, ())


async def test_without_an_embedder_text_search_goes_on_and_says_so_once() -> None:
    other = CollectionRef(id="c2", name="o", space=OTHER)
    result = await search(Parts(failing=True), refs=(REF, other))
    assert result.degraded == ("no vectors, text search alone: away",)
    assert result.candidates[0].scores.dense is None


async def test_collections_are_asked_by_space_and_their_lists_joined_by_rank() -> None:
    parts = Parts()
    second, other = (
        CollectionRef(id="c2", name="s", space=SPACE),
        CollectionRef(id="c3", name="o", space=OTHER),
    )
    result = await search(
        parts, refs=(REF, other, second, CollectionRef(id="c4", name="new", space=None))
    )
    asked = {(asked["space"], tuple(asked["collection_ids"])) for asked in parts.asked}
    assert asked == {(SPACE, ("c1", "c2")), (OTHER, ("c3",))}
    assert result.candidates[0].scores.fused == pytest.approx(2 / 61)
    assert result.notes["spaces"] == 2


async def test_hierarchical_search_without_a_document_searches_all_and_says_so() -> None:
    parts = Parts(ids=())
    result = await search(parts, strategy="hierarchical")
    assert parts.asked[-1]["filters"].documents == ()
    assert result.degraded == ("no document's summary fits the question: all chunks were searched",)


# ------------------------------------------------------------------------------------------------ the formulas
OUTER = 1.5**0.5  # the z-scores of three evenly spaced values are this, 0 and minus this
DENSE = {"a": 0.9, "b": 0.5, "c": 0.1}
BM25 = {"c": 6.0, "a": 3.0, "b": 0.0}
BOTH = {"dense": [DENSE], "bm25": [BM25]}


async def fused(parts: Parts, *queries: str | Query, **options: Any) -> dict[str, float]:
    found = await search(parts, *queries, depth=10, **options)
    return {candidate.chunk_id: candidate.scores.fused or 0.0 for candidate in found.candidates}


async def test_a_spaces_scores_are_the_sum_of_both_legs_zscores() -> None:
    assert await fused(Parts(legs=BOTH)) == pytest.approx({"a": OUTER, "c": 0.0, "b": -OUTER})


async def test_a_chunk_is_lowered_for_each_better_one_of_its_document() -> None:
    parts = Parts(legs=BOTH, documents={"a": "one", "b": "one", "c": "one"})
    expected = {"a": OUTER, "c": -REPEAT_PENALTY, "b": -OUTER - 2 * REPEAT_PENALTY}
    assert await fused(parts) == pytest.approx(expected)


async def test_bm25_scores_are_kept_on_the_scale_of_one_wording() -> None:
    result = await search(
        Parts(legs={"dense": [{}], "bm25": [{"a": 4.0, "b": 2.0}]}), "library books", "books"
    )
    assert [candidate.scores.bm25 for candidate in result.candidates] == [2.0, 1.0]


async def test_parts_of_a_question_are_joined_by_rank() -> None:
    parts = Parts(legs={"dense": [{"a": 0.9, "b": 0.1}, {"b": 0.8}], "bm25": [{}, {}]})
    scores = await fused(parts, "library books", Query("opening hours", kind="sub_query"))
    assert scores == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61})


TEXTS = {"a": "borrow ten books", "b": "borrow a bicycle", "c": "the swimming pool"}


async def seeded(
    question: str | Query, dense: Mapping[str, float], bm25: Mapping[str, float]
) -> SearchResult:
    parts = Parts(legs={"dense": [dense], "bm25": [bm25]}, texts=TEXTS)
    return await search(parts, question, depth=10, settings={"formula": "seed"})


async def test_the_seeds_formula_scores_the_dense_window_alone() -> None:
    found = await seeded("borrow", {"a": 0.9, "b": 0.5}, {"a": 3.0, "x": 9.0})
    scores = [candidate.scores.fused for candidate in found.candidates]
    assert scores == pytest.approx([0.2 * 0.9 + 3.0, 0.2 * 0.5])


@pytest.mark.parametrize(
    ("question", "kept", "share"),
    [
        ("borrow", ["a", "b"], 1.0),
        ("borrow ten zebras", ["a", "b"], 0.333),  # short: one of three terms is enough
        ("borrow ten books zebras", ["a"], 0.75),
        ("borrow ten lions zebras", ["a"], 0.5),
        ("borrow tigers lions zebras", ["a", "b"], 0.25),  # long, and any term is better than none
        ("tigers lions", ["a", "b", "c"], 0.0),
    ],
)
async def test_the_seeds_filter_asks_of_long_questions_as_many_terms_as_some_candidate_holds(
    question: str, kept: list[str], share: float
) -> None:
    found = await seeded(question, DENSE, {})
    assert (ids(found), found.notes["match"]) == (kept, share)


# ------------------------------------------------------------------------------------------------ what is asked for
IMAGINED = Query("loans last weeks", kind="hyde", vector_only=True)


def rewrites(*texts: str) -> list[Query]:
    return [Query(text, kind="rewrite") for text in texts]


def group(*queries: Query) -> QueryGroup:
    (made,) = query_groups(queries)
    return made


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("  two\t\n words ", "two words"),
        ("a\x00\x07b\ud800c\ufeff", "a b c"),
        ("x" * (MAX_QUERY_CHARS + 1), "x" * MAX_QUERY_CHARS),
    ],
)
def test_a_query_is_searched_without_control_characters_and_at_a_bounded_length(
    text: str, searched: str
) -> None:
    assert query_text(text) == searched


def test_what_says_nothing_or_the_same_again_is_left_out() -> None:
    made = group(Query(" "), Query(" library\n"), *rewrites("library "), *rewrites("loans"))
    assert [query.text for query in made.queries] == ["library", "loans"]


# ------------------------------------------------------------------------------------------------ groups
def test_the_vector_is_a_mean_in_which_the_first_query_weighs_as_much_as_all_others() -> None:
    made = group(Query("library"), *rewrites("loans", "books"))
    vectors = np.eye(3, dtype=np.float32)
    assert made.vector(vectors).tolist() == [[0.5, 0.25, 0.25]]
    assert group(Query("library")).vector(vectors[:1]).tolist() == [[1.0, 0.0, 0.0]]


def test_an_imagined_answer_takes_no_part_in_text_search() -> None:
    made = group(Query("library"), IMAGINED)
    assert (made.label, made.text, made.text_weight) == ("original", "librari", 1)


def test_parts_of_a_question_are_groups_of_their_own_after_the_others() -> None:
    part = Query("opening hours", kind="sub_query")
    groups = query_groups(
        [part, Query("library"), *rewrites("loans"), Query("fees", kind="sub_query")]
    )
    assert [made.label for made in groups] == ["original", "sub_query", "sub_query2"]
    assert [made.label for made in query_groups([part])] == ["sub_query"]


def test_each_query_can_be_a_leg_of_its_own() -> None:
    queries = [
        Query("library"),
        *rewrites("loans", "books"),
        IMAGINED,
        Query("fees", kind="sub_query"),
    ]
    groups = query_groups(queries, "rrf")
    assert [made.label for made in groups] == [
        "original",
        "rewrite",
        "rewrite2",
        "hyde",
        "sub_query",
    ]
    assert [len(made.queries) for made in groups] == [1] * 5


async def test_legs_of_their_own_are_joined_by_rank_and_each_rank_is_told() -> None:
    dense = [{"a": 0.9, "b": 0.1}, {"b": 0.9, "c": 0.1}]
    bm25 = [{"a": 2.0}, {"b": 2.0}]
    parts = Parts(legs={"dense": dense, "bm25": bm25})
    result = await search(parts, "library", *rewrites("loans"), settings={"legs": "rrf"})
    scores = {hit.chunk_id: hit.scores.fused for hit in result.candidates}
    assert scores == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})
    best = result.candidates[0]
    assert (best.chunk_id, best.ranks) == (
        "b",
        {"original:dense": 2, "rewrite:dense": 1, "rewrite:bm25": 1},
    )


@pytest.mark.parametrize(("question", "times"), [("2022年世界杯", 3), ("world cup 2022", 1)])
def test_a_number_of_a_chinese_question_is_asked_for_three_times(question: str, times: int) -> None:
    words = group(Query(question)).text.split()
    other = "世界杯" if "世界杯" in words else "world"
    assert words.count("2022") == times * words.count(other)


def test_a_word_that_a_chinese_word_holds_is_asked_for_too_and_weighs_less() -> None:
    made = group(Query("加班费怎么算？"))
    words = made.text.split()
    assert words.count("加班费") == WHOLE_WORD_WEIGHT > words.count("加班") == 1
    assert made.text_weight == WHOLE_WORD_WEIGHT  # so that scores stay on the scale of one query


@pytest.mark.parametrize(
    "text", ["pass\u200bword", "\ufeffpass\u00adword", "\u2066password\u2069", "p\u2060assword"]
)
def test_what_no_reader_sees_is_not_searched_for(text: str) -> None:
    assert query_text(text) == "password"
