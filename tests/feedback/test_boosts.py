"""Evidence → boosts, in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.ranking import boosts
from feedback.ranking.boosts import Votes

FIELDS = {
    "question": 1, "passage": 1, "document": 1, "voter": 1, "value": 1.0, "document_value": 1.0, "day": 100,
    "normalized_score": np.nan,
}  # fmt: skip
PARTS = {"value", "document_value", "normalized_score"}


def votes(*rows: dict[str, Any]) -> Votes:
    columns = {name: [row.get(name, default) for row in rows] for name, default in FIELDS.items()}
    whole = {name: np.asarray(column, dtype=np.int64) for name, column in columns.items() if name not in PARTS}
    parts = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items() if name in PARTS}
    return Votes(key=np.arange(1, len(rows) + 1), **whole, **parts)


def values(found: Votes) -> list[float]:
    return found.value.tolist()


# ------------------------------------------------------------------------------------------------ deduplication
def test_the_newest_vote_of_a_voter_on_a_question_and_passage_counts() -> None:
    found = boosts.deduplicated(votes({"value": 1.0}, {"value": -1.0, "day": 101}, {"voter": 2}))
    assert values(found) == [-1.0, 1.0]


def test_votes_on_one_question_in_other_words_count_once() -> None:
    rows = [{"question": number, "value": 0.1 * number} for number in (1, 2, 3)]
    found = boosts.deduplicated(votes(*rows), lambda questions: np.zeros(len(questions), dtype=np.int64))
    assert values(found) == pytest.approx([0.3])


def test_votes_on_other_passages_and_by_other_voters_are_kept() -> None:
    rows = [{}, {"passage": 2}, {"voter": 2}, {"question": 2}]
    assert len(boosts.deduplicated(votes(*rows), lambda questions: np.arange(len(questions)))) == 4


def test_no_votes_make_no_boosts() -> None:
    none = boosts.deduplicated(votes())
    assert len(boosts.query_tallies(none)) == 0
    assert len(boosts.document_tallies(none, prior=10, min_raters=1)) == 0
    assert boosts.within_daily_cap(none, per_day=5).tolist() == []
    assert boosts.find_bursts(none, least_votes=2, accounts=1) == []


# ------------------------------------------------------------------------------------------------ sums
def test_a_vote_counts_half_after_its_half_life() -> None:
    found = boosts.decayed(votes({"day": 100}, {"day": 190}), today=190, half_life_days=90)
    assert values(found) == pytest.approx([0.5, 1.0])


def test_a_vote_from_the_future_counts_once() -> None:
    assert values(boosts.decayed(votes({"day": 500}), today=190, half_life_days=90)) == [1.0]


def test_votes_for_and_against_are_told_apart() -> None:
    tallies = boosts.query_tallies(votes({"voter": 1}, {"voter": 2, "value": -0.5}, {"voter": 3, "passage": 2}))
    assert tallies.passage.tolist() == [1, 2]
    assert (tallies.up.tolist(), tallies.down.tolist()) == ([1.0, 1.0], [0.5, 0.0])
    assert (tallies.raters_up.tolist(), tallies.raters_down.tolist()) == ([1, 1], [1, 0])


def test_a_document_needs_enough_distinct_raters() -> None:
    rows = [{"voter": voter} for voter in (1, 2)] + [{"document": 2, "voter": voter} for voter in (1, 2, 3)]
    assert boosts.document_tallies(votes(*rows), prior=10, min_raters=3).document.tolist() == [2]


def test_one_voter_counts_once_for_a_document_whatever_they_asked() -> None:
    many = [{"question": number, "passage": number, "voter": 1} for number in range(50)]
    others = [{"document": 2, "voter": voter, "document_value": -1.0} for voter in range(20)]
    once = boosts.document_tallies(votes({"voter": 1}, *others), prior=10, min_raters=1)
    often = boosts.document_tallies(votes(*many, *others), prior=10, min_raters=1)
    assert often.multiplier.tolist() == pytest.approx(once.multiplier.tolist())


def test_what_is_rated_as_well_as_the_rest_is_not_lifted_for_being_rated_often() -> None:
    popular = [{"document": 1, "voter": voter} for voter in range(90)]
    rare = [{"document": 2, "voter": voter} for voter in range(9)]
    bad = [{"document": 1, "voter": 100 + voter, "document_value": -1.0} for voter in range(10)]
    worse = [{"document": 2, "voter": 100, "document_value": -1.0}]
    found = boosts.document_tallies(votes(*popular, *rare, *bad, *worse), prior=10, min_raters=3)
    assert found.multiplier == pytest.approx([1.0, 1.0], abs=0.02)


def test_a_documents_multiplier_is_its_smoothed_share_beside_that_of_all() -> None:
    rows = [{"voter": voter, "document": 1} for voter in range(3)]
    rows += [{"voter": voter, "document": 2, "document_value": -1.0} for voter in range(4, 7)]
    found = boosts.document_tallies(votes(*rows), prior=3, min_raters=3)
    assert found.multiplier.tolist() == pytest.approx([1.25**0.5, 1.25**-0.5])  # shares .75 and .25, mean .5
    assert (found.raters_up.tolist(), found.raters_down.tolist()) == ([3, 0], [0, 3])


def test_votes_of_one_voter_on_a_document_cancel_each_other() -> None:
    rows = [{"voter": 1, "question": 1}, {"voter": 1, "question": 2, "document_value": -1.0}, {"voter": 2}]
    found = boosts.document_tallies(votes(*rows), prior=3, min_raters=1)
    assert (found.raters_up.tolist(), found.raters_down.tolist()) == ([1], [0])


def test_normalized_scores_of_a_passage_are_averaged_where_they_are_known() -> None:
    rows = [{"voter": 1, "normalized_score": 0.4}, {"voter": 2, "normalized_score": 0.8}, {"voter": 3}, {"passage": 2}]
    found = boosts.query_tallies(votes(*rows)).normalized_score
    assert found[0] == pytest.approx(0.6)
    assert np.isnan(found[1])


# ------------------------------------------------------------------------------------------------ multipliers
counts = st.floats(0, 1e6, allow_nan=False)


@given(up=counts, down=counts)
def test_a_query_boost_stays_within_its_bounds(up: float, down: float) -> None:
    value = float(boosts.query_multiplier(np.asarray([up]), np.asarray([down]), full_votes=3.0)[0])
    assert 0.5 <= value <= 2.0
    assert (value > 1) == (up > down) or value == pytest.approx(1.0, abs=1e-6)


@given(rows=st.lists(st.tuples(counts, counts), min_size=1, max_size=20))
def test_a_document_boost_stays_within_its_bounds(rows: list[tuple[float, float]]) -> None:
    table = np.asarray(rows, dtype=np.float64)
    found = boosts.document_multiplier(table[:, 0], table[:, 1], prior=10.0)
    assert found.min() >= 0.8 - 1e-9
    assert found.max() <= 1.25 + 1e-9


@pytest.mark.parametrize(
    ("up", "down", "multiplier"),
    [(0, 0, 1.0), (1, 0, 2 ** (1 / 3)), (3, 0, 2.0), (9, 0, 2.0), (1, 3, 2 ** (-2 / 3)), (0, 4, 0.5)],
)
def test_a_query_boost_is_two_to_the_share_of_full_votes(up: float, down: float, multiplier: float) -> None:
    found = boosts.query_multiplier(np.asarray([up]), np.asarray([down]), full_votes=3.0)
    assert found.tolist() == pytest.approx([multiplier])


def test_more_votes_move_further() -> None:
    found = boosts.query_multiplier(np.asarray([0.0, 1.0, 2.0, 50.0]), np.zeros(4), full_votes=3.0).tolist()
    assert found == sorted(found)
    assert found[0] == 1.0
    assert found[1] < 1.5 < found[2] < found[3]


def test_only_the_strongest_boosts_stay() -> None:
    rows = [{"question": number, "voter": voter} for number in (1, 2, 3) for voter in range(number)]
    tallies = boosts.strongest(boosts.query_tallies(votes(*rows)), full_votes=3.0, least_effect=0.03, limit=2)
    assert tallies.question.tolist() == [2, 3]


def test_of_boosts_of_one_strength_the_first_stay() -> None:
    tallies = boosts.query_tallies(votes(*({"question": number} for number in range(200))))
    kept = boosts.strongest(tallies, full_votes=3.0, least_effect=0.03, limit=50)
    assert kept.question.tolist() == list(range(50))


def test_votes_against_make_strong_boosts_as_well() -> None:
    tallies = boosts.query_tallies(votes({"question": 1, "value": 0.5}, {"question": 2, "value": -1.0}))
    assert boosts.strongest(tallies, full_votes=3.0, least_effect=0.03, limit=1).question.tolist() == [2]


def test_a_boost_that_does_next_to_nothing_is_left_out() -> None:
    tallies = boosts.query_tallies(votes({"value": 0.01}))
    assert len(boosts.strongest(tallies, full_votes=3.0, least_effect=0.03, limit=10)) == 0


# ------------------------------------------------------------------------------------------------ abuse
def test_beyond_the_days_cap_questions_do_not_count() -> None:
    rows = [{"question": number, "passage": passage} for number in (7, 5, 9) for passage in (1, 2)]
    assert boosts.within_daily_cap(votes(*rows), per_day=2).tolist() == [True] * 4 + [False] * 2


def test_another_day_and_another_voter_have_their_own_cap() -> None:
    rows = [{"question": 1}, {"question": 2}, {"question": 3, "day": 101}, {"question": 4, "voter": 2}]
    assert boosts.within_daily_cap(votes(*rows), per_day=1).tolist() == [True, False, True, True]


def many(voters: Sequence[int], each: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"voter": voter, "question": number, **fields} for voter in voters for number in range(each)]


def test_many_votes_of_few_accounts_are_a_burst_and_the_others_are_not_part_of_it() -> None:
    rows = votes(*many([1, 2], 8), *many(range(10, 16), 1))
    (burst,) = boosts.find_bursts(rows, least_votes=15, accounts=2)
    assert (len(burst.rows), burst.accounts, burst.day) == (16, 2, 100)
    assert set(rows.voter[burst.rows].tolist()) == {1, 2}


def test_a_burst_names_its_document_and_day() -> None:
    (burst,) = boosts.find_bursts(votes(*many([1], 5, document=7, day=3)), least_votes=5, accounts=1)
    assert (burst.document, burst.day, burst.accounts, burst.rows.tolist()) == (7, 3, 1, [0, 1, 2, 3, 4])


@pytest.mark.parametrize(("each", "bursts"), [(4, 0), (5, 1)])
def test_a_burst_begins_at_the_number_of_votes_given(each: int, bursts: int) -> None:
    assert len(boosts.find_bursts(votes(*many([1, 2, 3], each)), least_votes=15, accounts=3)) == bursts


def test_as_many_votes_of_many_accounts_are_none() -> None:
    assert boosts.find_bursts(votes(*many(range(20), 1)), least_votes=15, accounts=3) == []


def test_votes_spread_over_days_are_none() -> None:
    rows = [row for day in range(4) for row in many([1], 5, day=day)]
    assert boosts.find_bursts(votes(*rows), least_votes=15, accounts=3) == []


# ------------------------------------------------------------------------------------------------ new accounts
def newcomers(rows: list[dict[str, Any]], *, first_young: int = 10) -> list[boosts.BurstFound]:
    """Voters from `first_young` on are young; three older ones vote elsewhere."""
    older = [{"voter": voter, "document": 90 + voter, "passage": 90 + voter} for voter in (1, 2, 3)]
    table = votes(*rows, *older)
    return boosts.find_newcomers(table, table.voter >= first_young, least_accounts=6, days=3)


def test_new_accounts_that_say_the_same_of_a_document_are_a_burst_with_one_vote_each() -> None:
    rows = [{"voter": voter, "question": voter, "document": 7, "day": 99 + voter % 2} for voter in range(10, 16)]
    (burst,) = newcomers(rows)
    assert (burst.document, burst.accounts, burst.newcomers, burst.question) == (7, 6, True, None)
    assert burst.rows.tolist() == [0, 1, 2, 3, 4, 5]


def test_what_they_say_for_one_question_of_several_documents_is_a_burst_for_each() -> None:
    """Three of them on each of two documents: too few for a document's burst."""
    rows = [
        {"voter": voter, "question": 5, "document": voter % 2, "passage": voter % 2, "value": -1.0}
        for voter in range(10, 16)
    ]
    found = newcomers(rows)
    assert [(burst.document, burst.question, burst.accounts) for burst in found] == [(0, 5, 3), (1, 5, 3)]


def test_one_in_ten_who_disagrees_does_not_hide_a_burst() -> None:
    rows = [{"voter": voter, "document": 7, "value": -1.0} for voter in range(10, 20)]
    rows[0]["value"] = 1.0
    (burst,) = newcomers(rows)
    assert len(burst.rows) == 10


@pytest.mark.parametrize("first_young", [10, 100])
def test_older_accounts_and_votes_over_weeks_are_none(first_young: int) -> None:
    days = 7 if first_young == 10 else 0
    rows = [{"voter": voter, "document": 7, "day": 100 + days * (voter - 10)} for voter in range(10, 18)]
    assert newcomers(rows, first_young=first_young) == []
