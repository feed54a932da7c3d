"""What the legs of one embedding space come to: exact scores, on legs that are given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ragsite.core.rag_settings import SearchSettings
from retrieval.ports import LegHit
from retrieval.search import space_fusion
from retrieval.search.queries import group_variants, make_variants
from retrieval.search.space_fusion import SpaceFusion, SpaceResult, dense_limit
from retrieval.values import Query, SearchScope, StoredChunk
from tests.retrieval.steps.fakes import SCOPE

OUTER = math.sqrt(1.5)  # the z-scores of three evenly spaced values are this, 0 and minus this
DENSE = {"a": 0.9, "b": 0.5, "c": 0.1}
BM25 = {"c": 6.0, "a": 3.0, "b": 0.0}


class Texts:
    """A store of chunk id → text, which keeps in mind the scopes that it was asked in."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.scopes: list[SearchScope] = []

    async def fetch(self, chunk_ids: Sequence[str], *, scope: SearchScope) -> Mapping[str, StoredChunk]:
        self.scopes.append(scope)
        return {
            key: StoredChunk(chunk_id=key, document_id="d", collection_id="c1", seq=0, title="", text=self.texts[key])
            for key in chunk_ids
            if key in self.texts
        }

    async def vocabulary(self, scope: SearchScope) -> Any:
        raise NotImplementedError


def hits(scores: Mapping[str, float]) -> list[LegHit]:
    return [LegHit(chunk_id, f"document of {chunk_id}", score) for chunk_id, score in scores.items()]


async def fused(
    *queries: str | Query,
    dense: Sequence[Mapping[str, float]],
    bm25: Sequence[Mapping[str, float]],
    limit: int = 100,
    store: Texts | None = None,
    semantic: bool = True,
    **settings: Any,
) -> SpaceResult:
    """dense: a leg for each query that says something; bm25: one for each group of them."""
    variants = make_variants(Query(query) if isinstance(query, str) else query for query in queries)
    result = SpaceResult()
    await SpaceFusion(SearchSettings(**settings), store or Texts({})).fuse(
        result, group_variants(variants), [hits(leg) for leg in dense], [hits(leg) for leg in bm25], limit=limit,
        scope=SCOPE, semantic=semantic,
    )  # fmt: skip
    return result


@pytest.mark.parametrize(
    ("window", "variants", "limit"),
    [(100, 0, 100), (100, 1, 100), (100, 2, 100), (100, 3, 66), (100, 4, 50), (1, 10, 1)],
)
def test_several_variants_share_twice_the_window_of_one(window: int, variants: int, limit: int) -> None:
    assert dense_limit(window, variants) == limit


# ------------------------------------------------------------------------------------------------ z-scores
async def test_a_spaces_scores_are_the_sum_of_both_legs_zscores() -> None:
    result = await fused("library books", dense=[DENSE], bm25=[BM25])
    assert result.fused == pytest.approx({"a": OUTER, "c": 0.0, "b": -OUTER})
    assert result.ranking == ["a", "c", "b"]


async def test_the_dense_legs_weight_is_a_setting() -> None:
    result = await fused("library books", dense=[DENSE], bm25=[BM25], zscore_dense_weight=2.0)
    assert result.fused == pytest.approx({"a": 2 * OUTER, "c": -OUTER, "b": -OUTER})


async def test_a_dense_leg_at_odds_with_bm25_keeps_a_small_part_of_its_weight() -> None:
    result = await fused("library books", dense=[{"x": 0.9, "y": 0.1}], bm25=[{"p": 4.0, "q": 2.0}])
    low = -1.5 / math.sqrt(2.75)  # x and y with BM25
    assert result.fused["x"] == pytest.approx(0.3 * math.sqrt(3) + low)
    assert result.fused["y"] == pytest.approx(-0.3 / math.sqrt(3) + low)


async def test_a_dense_leg_without_a_model_only_parts_what_bm25_holds_equal() -> None:
    dense = {"c": 0.9, "x": 0.8, "b": 0.5, "y": 0.4, "a": 0.1}
    result = await fused("library books", dense=[dense], bm25=[{"a": 6.0, "b": 3.0, "c": 3.0}], semantic=False)
    assert result.ranking == ["a", "c", "b", "x", "y"]


async def test_a_dense_leg_without_a_model_counts_where_no_word_is_found() -> None:
    result = await fused("library books", dense=[DENSE], bm25=[{}], semantic=False)
    assert result.fused == pytest.approx({"a": OUTER, "b": 0.0, "c": -OUTER})


@pytest.mark.parametrize(("limit", "missed"), [(2, -math.sqrt(0.5)), (3, -OUTER)])
async def test_what_a_full_bm25_list_missed_scores_like_its_last(limit: int, missed: float) -> None:
    even = {"a": 0.5, "b": 0.5, "c": 0.5}
    result = await fused("library books", dense=[even], bm25=[{"a": 4.0, "b": 2.0}], limit=limit)
    assert result.fused["c"] == pytest.approx(missed)


async def test_one_leg_alone_gives_its_zscores() -> None:
    for legs in ({"dense": [DENSE], "bm25": [{}]}, {"dense": [{}], "bm25": [DENSE]}):
        assert (await fused("library books", **legs)).fused == pytest.approx({"a": OUTER, "b": 0.0, "c": -OUTER})


async def test_nothing_found_is_an_empty_result() -> None:
    result = await fused("library books", dense=[{}], bm25=[{}])
    assert (result.ranking, dict(result.fused)) == ([], {})


# ------------------------------------------------------------------------------------------------ several variants
WORDINGS = ("library books", Query("borrow volumes", kind="rewrite"))


async def test_wordings_of_a_question_count_by_their_weighted_mean() -> None:
    legs = [{"a": 0.9, "b": 0.1}, {"b": 0.9, "a": 0.1}, {"b": 0.9, "a": 0.1}]
    result = await fused(*WORDINGS, Query("lend books", kind="rewrite"), dense=legs, bm25=[{"a": 4.0, "b": 2.0}])
    assert result.fused == pytest.approx({"a": 1.0, "b": -1.0})  # the first wording weighs like the two others together


async def test_several_wordings_joined_by_rank_have_a_list_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_fusion, "VARIANT_FUSION", "rrf")
    result = await fused(*WORDINGS, dense=[{"a": 0.9, "b": 0.1}, {"b": 0.9, "a": 0.1}], bm25=[{}])
    assert result.fused == pytest.approx({"a": 1 / 61 + 1 / 62, "b": 1 / 61 + 1 / 62})


async def test_bm25_scores_are_kept_on_the_scale_of_one_wording() -> None:
    result = await fused(*WORDINGS, dense=[{}, {}], bm25=[{"a": 4.0, "b": 2.0}])
    assert result.bm25 == {"a": 2.0, "b": 1.0}


async def test_of_several_variants_the_best_score_and_every_rank_is_kept() -> None:
    result = await fused(*WORDINGS, dense=[{"a": 0.9, "b": 0.1}, {"b": 0.8, "a": 0.7}], bm25=[{"b": 4.0}])
    assert result.dense == {"a": 0.9, "b": 0.8}
    assert result.ranks == {
        "a": {"original:dense": 1, "rewrite:dense": 2},
        "b": {"original:dense": 2, "rewrite:dense": 1, "original+rewrite:bm25": 1},
    }


async def test_the_document_of_every_hit_is_kept() -> None:
    result = await fused("library books", dense=[{"a": 0.9}], bm25=[{"b": 4.0}])
    assert result.document_of == {"a": "document of a", "b": "document of b"}


async def test_parts_of_a_question_are_joined_by_rank() -> None:
    part = Query("opening hours", kind="sub_query")
    result = await fused("library books", part, dense=[{"a": 0.9, "b": 0.1}, {"b": 0.8}], bm25=[{}, {}])
    assert result.fused == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61})
    assert result.ranking == ["b", "a"]


# ------------------------------------------------------------------------------------------------ the seed's formula
TEXTS = {"a": "borrow ten books", "b": "borrow a bicycle", "c": "the swimming pool"}


async def seeded(question: str | Query, dense: Mapping[str, float], bm25: Mapping[str, float]) -> SpaceResult:
    return await fused(question, dense=[dense], bm25=[bm25], store=Texts(TEXTS), formula="seed")


async def test_the_seeds_formula_scores_the_dense_window_alone() -> None:
    result = await seeded("borrow", {"a": 0.9, "b": 0.5}, {"a": 3.0, "x": 9.0})
    assert result.fused == pytest.approx({"a": 0.2 * 0.9 + 3.0, "b": 0.2 * 0.5})


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
    result = await seeded(question, DENSE, {})
    assert (result.ranking, result.notes) == (kept, {"match": share})


async def test_the_seeds_filter_keeps_nothing_whose_text_is_gone() -> None:
    assert (await seeded("borrow", {"a": 0.9, "gone": 0.5}, {})).ranking == ["a"]


async def test_the_seeds_filter_reads_texts_in_the_askers_scope() -> None:
    store = Texts(TEXTS)
    await fused("borrow", dense=[DENSE], bm25=[{}], store=store, formula="seed")
    assert store.scopes == [SCOPE]


async def test_without_vectors_the_seeds_formula_takes_bm25s_list_unfiltered() -> None:
    result = await seeded("borrow", {}, {"c": 2.0, "a": 1.0})
    assert (result.fused, result.notes) == ({"c": 2.0, "a": 1.0}, {})


async def test_an_imagined_answer_is_not_filtered_by_its_words() -> None:
    result = await seeded(Query("borrow", kind="hyde", vector_only=True), DENSE, {})
    assert (result.ranking, result.notes) == (["a", "b", "c"], {})
