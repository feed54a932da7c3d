"""What ratings do to the order of a search's result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from ragsite.core.errors import UnavailableError
from retrieval.ports import SearchResult
from retrieval.search.boosting import AnswerRevision, Ranked, put_boosts, rank_with_boosts
from retrieval.values import Boost, Boosts, ScoredChunk, Scores, SearchScope, StoredChunk, TailHit
from tests.retrieval.steps.fakes import SCOPE, chunk, scored


class Store:
    """The chunks whose text may be read."""

    def __init__(self, *chunks: StoredChunk) -> None:
        self.chunks = {one.chunk_id: one for one in chunks}
        self.asked: list[str] = []

    async def fetch(self, chunk_ids: Sequence[str], *, scope: SearchScope) -> Mapping[str, StoredChunk]:
        self.asked.extend(chunk_ids)
        return {one: self.chunks[one] for one in chunk_ids if one in self.chunks}


def with_fused(number: int, fused: float) -> ScoredChunk:
    candidate = scored(number, f"text {number}")
    return replace(candidate, scores=replace(candidate.scores, fused=fused))


def below(number: int, fused: float) -> TailHit:
    return TailHit(chunk_id=f"k{number}", document_id=f"d{number}", scores=Scores(fused=fused, final=fused))


def times(**multipliers: float) -> Boosts:
    return Boosts(by_chunk={chunk_id: Boost(multiplier=value) for chunk_id, value in multipliers.items()})


def ids(found: Sequence[ScoredChunk | TailHit | Ranked]) -> list[str]:
    return [one.chunk_id for one in found]


def test_a_boost_lifts_and_lowers_whatever_the_sign_of_the_fused_score() -> None:
    candidates = [with_fused(1, 1.0), with_fused(2, -0.9), with_fused(3, -1.0)]
    lifted = rank_with_boosts(candidates, times(k3=1.3))
    lowered = rank_with_boosts(candidates, times(k1=0.1))
    assert ids(lifted) == ["k1", "k3", "k2"]
    assert [one.final for one in lowered if one.chunk_id == "k1"] == [0.1]
    assert lifted[0].scores().boost == 1.0


def test_a_boost_does_not_carry_the_worst_of_many_to_the_top_but_the_worst_of_two() -> None:
    many = [with_fused(number, float(-number)) for number in range(100)]
    assert ids(rank_with_boosts(many, times(k99=2.0)))[0] == "k0"
    assert ids(rank_with_boosts(many[:2], times(k1=2.0))) == ["k1", "k0"]


async def test_candidates_know_their_standing_also_when_nothing_is_boosted() -> None:
    result = SearchResult(candidates=(with_fused(1, 3.0), with_fused(2, 2.0)), tail_hits=(below(3, -1.0),))
    boosted = await put_boosts(result, Boosts(), store=Store(), scope=SCOPE)
    assert [one.scores.standing for one in boosted.candidates] == [1.0, 0.75]
    assert [one.scores.as_dict()["boost"] for one in boosted.candidates] == [
        1.0,
        1.0,
    ]  # a multiplier that changes nothing
    assert [one.scores.final for one in boosted.candidates] == [one.scores.final for one in result.candidates]


def test_without_boosts_the_order_stays() -> None:
    candidates = [with_fused(1, 0.5), with_fused(2, 0.5), with_fused(3, 0.1)]
    assert ids(rank_with_boosts(candidates, Boosts())) == ["k1", "k2", "k3"]
    assert rank_with_boosts([], Boosts()) == []


async def test_what_was_found_further_down_comes_up_with_its_text() -> None:
    result = SearchResult(candidates=(with_fused(1, 3.0), with_fused(2, 2.0)), tail_hits=(below(3, 1.9), below(4, 0.0)))
    store = Store(chunk(3, "text 3"), chunk(4, "text 4"))
    boosted = await put_boosts(result, times(k3=2.0), store=store, scope=SCOPE)
    assert ids(boosted.candidates) == ["k3", "k1"]
    assert boosted.candidates[0].chunk.text == "text 3"
    assert boosted.lifted == ("k3",)
    assert store.asked == ["k3"]


async def test_a_boost_shows_nothing_that_may_not_be_read() -> None:
    result = SearchResult(candidates=(with_fused(1, 3.0), with_fused(2, 2.0)), tail_hits=(below(3, 1.9),))
    boosted = await put_boosts(result, times(k3=2.0), store=Store(), scope=SCOPE)
    assert ids(boosted.candidates) == ["k1", "k2"]
    assert boosted.lifted == ()


async def test_what_staff_hide_gives_its_place_to_the_next() -> None:
    result = SearchResult(candidates=(with_fused(1, 3.0), with_fused(2, 2.0)), tail_hits=(below(3, 1.0),))
    hidden = Boosts(by_chunk={"k1": Boost(multiplier=1.0, hide=True)})
    boosted = await put_boosts(result, hidden, store=Store(chunk(3, "text 3")), scope=SCOPE)
    assert ids(boosted.candidates) == ["k2", "k3"]
    assert boosted.hidden == ("k1",)


async def test_a_text_that_stands_there_already_does_not_come_up_again() -> None:
    result = SearchResult(candidates=(with_fused(1, 3.0), with_fused(2, 2.0)), tail_hits=(below(3, 1.9),))
    boosted = await put_boosts(result, times(k3=1.2), store=Store(chunk(3, "Text  1")), scope=SCOPE)
    assert ids(boosted.candidates) == ["k1", "k2"]


class Ratings:
    """Each revision is a name; the first `failing` calls can't be answered."""

    def __init__(self, *, failing: int = 0) -> None:
        self.asked, self.failing = 0, failing

    async def current(self) -> str:
        self.asked += 1
        number = self.asked
        await asyncio.sleep(0)
        if number <= self.failing:
            raise UnavailableError
        return f"revision {number}"


async def test_searches_of_one_answer_that_run_side_by_side_get_the_same_revision() -> None:
    revision, ratings = AnswerRevision(), Ratings()
    met = await asyncio.gather(*(revision.get(ratings) for _ in range(3)))
    assert len(set(met)) == 1
    assert await revision.get(ratings) in met


async def test_where_the_ratings_could_not_be_read_the_next_search_tries_again() -> None:
    revision, ratings = AnswerRevision(), Ratings(failing=1)
    with pytest.raises(UnavailableError):
        await revision.get(ratings)
    assert await revision.get(ratings) == await revision.get(ratings) == "revision 2"
