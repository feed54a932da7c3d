"""What votes weigh, and what boosts they make."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.ranking.boosts import (
    document_boosts,
    query_boosts,
    query_multiplier,
)
from feedback.ranking.votes import (
    Sums,
    Vote,
    Voters,
    dedupe_votes,
    document_sums,
    find_bursts,
    passage_sums,
    voters_of,
)

TODAY = 20_000
DOCUMENT = uuid.UUID(int=1)


def vote(
    voter: int = 1, weight: float = 1.0, *, question: int = 1, passage: int = 1, day: int = TODAY
) -> Vote:
    return Vote(question, passage, DOCUMENT, voter, weight, weight, day)


def sums(*votes: Vote, voters: Voters | None = None) -> Sums:
    return passage_sums(dedupe_votes(votes), voters or Voters(), today=TODAY)[1, 1]


def test_of_a_persons_votes_on_a_passage_the_newest_counts() -> None:
    own = sums(vote(weight=1.0), vote(weight=-1.0), vote(weight=0.5))
    assert (own.up, own.down, own.raters_up) == (0.5, 0.0, 1)


def test_a_vote_counts_half_after_its_half_life() -> None:
    assert sums(vote(day=TODAY - 180)).up == pytest.approx(0.5)
    assert sums(vote(day=TODAY + 5)).up == 1.0


def test_newcomers_count_little_and_together_no_more_than_the_others() -> None:
    voters = Voters(newcomers=frozenset(range(2, 30)))
    assert sums(vote(2), voters=voters).up == pytest.approx(0.3)
    assert sums(
        vote(1, -1.0), *(vote(number) for number in range(2, 30)), voters=voters
    ).up == pytest.approx(1.0)


def test_staff_count_more() -> None:
    assert sums(vote(), voters=Voters(staff=frozenset({1}))).up == 1.5


def test_a_site_without_old_accounts_has_no_newcomers() -> None:
    assert voters_of({1: TODAY, 2: TODAY - 3}, set(), today=TODAY).newcomers == frozenset()
    assert voters_of({1: TODAY, 2: TODAY - 7}, set(), today=TODAY).newcomers == {1}


def test_many_people_on_one_document_on_one_day_are_a_burst() -> None:
    votes = [vote(number, question=number) for number in range(6)]
    (burst,) = find_bursts(votes, since=0)
    assert (burst.document, burst.day, burst.voices) == (DOCUMENT, TODAY, 6)
    assert find_bursts(votes[:5], since=0) == []
    assert find_bursts(votes, since=TODAY + 1) == []


def test_two_votes_reach_the_bound_and_one_against_takes_one_back() -> None:
    assert query_multiplier(2.0, 0.0) == 2.0
    assert query_multiplier(9.0, 0.0) == 2.0
    assert query_multiplier(2.0, 1.0) == pytest.approx(2 ** (1 / 2), abs=1e-3)
    assert query_multiplier(0.0, 3.0) == 0.5


def test_a_document_needs_three_people_and_differs_from_the_mean() -> None:
    good, bad, rare = (uuid.UUID(int=number) for number in range(3))
    boosts = document_boosts(
        {
            good: Sums(up=20.0, raters_up=20),
            bad: Sums(down=20.0, raters_down=20),
            rare: Sums(up=2.0, raters_up=2),
        }
    )
    found = {boost.document: boost.multiplier for boost in boosts}
    assert found[good] > 1.0 > found[bad]
    assert rare not in found


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1, 1)), max_size=30))
def test_multipliers_stay_within_their_bounds(given: list[tuple[int, float]]) -> None:
    votes = dedupe_votes(vote(voter, weight) for voter, weight in given)
    for boost in query_boosts(passage_sums(votes, Voters(), today=TODAY)):
        assert 0.5 <= boost.multiplier <= 2.0
    for document in document_boosts(document_sums(votes, Voters(), today=TODAY)):
        assert 0.8 <= document.multiplier <= 1.25
