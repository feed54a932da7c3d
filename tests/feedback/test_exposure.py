"""How likely a place is looked at, found from what was opened at different places; and what opening counts."""

from __future__ import annotations

import numpy as np
import pytest

from feedback.ranking import exposure
from feedback.ranking.attribution import CitedSource
from feedback.ranking.exposure import examination, page_places, prior_examination, use_weight

LOOKED_AT = np.asarray([1.0, 0.5, 0.25, 0.1])


def shown(looked_at: np.ndarray, *, items: int, times: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Passages that help more stand further up, mostly: raw counts of openings can't tell why the first is opened."""
    draw = np.random.default_rng(7)
    helps = draw.uniform(0.05, 0.95, items)
    item = np.repeat(np.arange(items), times)
    wanted = (1.0 - helps[item]) * len(looked_at) + draw.normal(0.0, 0.8, len(item))
    place = np.clip(wanted.astype(np.int64), 0, len(looked_at) - 1) + 1
    opened = draw.random(len(item)) < helps[item] * looked_at[place - 1]
    return item, place, opened


def test_without_data_it_is_the_prior() -> None:
    nothing = np.zeros(0, np.int64)
    assert examination(nothing, nothing, np.zeros(0, np.bool_)) == pytest.approx(prior_examination())


def test_it_is_found_from_the_same_passage_at_different_places() -> None:
    item, place, opened = shown(LOOKED_AT, items=300, times=60)
    found = examination(item, place, opened)[:4]
    assert found == pytest.approx(LOOKED_AT, abs=0.06)
    share = np.asarray([opened[place == at].mean() for at in (1, 2, 3, 4)])
    assert abs(share / share[0] - LOOKED_AT).max() > 0.12  # what raw counts would have said


def test_where_all_places_are_looked_at_alike_it_finds_that_too() -> None:
    found = examination(*shown(np.ones(4), items=300, times=60))[:4]
    assert found.min() > 0.9


def test_a_few_openings_hardly_move_the_prior() -> None:
    item, place = np.asarray([0, 0, 1, 1]), np.asarray([1, 4, 1, 4])
    found = examination(item, place, np.asarray([False, True, False, True]))
    assert found == pytest.approx(prior_examination(), abs=0.08)


def test_what_was_only_ever_shown_at_one_place_tells_nothing() -> None:
    item, place, opened = np.arange(500), np.full(500, 3), np.ones(500, np.bool_)
    assert examination(item, place, opened) == pytest.approx(prior_examination())


def test_places_far_down_count_as_the_last() -> None:
    item, place = np.zeros(2, np.int64), np.asarray([1, 900])
    assert examination(item, place, np.asarray([True, True])).shape == (exposure.PLACES,)


def test_the_page_shows_cited_sources_first() -> None:
    sources = [
        CitedSource(1, cited=False),
        CitedSource(2, cited=True),
        CitedSource(3, cited=False),
        CitedSource(5, True),
    ]
    assert page_places(sources) == {2: 1, 5: 2, 1: 3, 3: 4}


@pytest.mark.parametrize(
    ("copied", "examined", "weight"),
    [(False, 1.0, 0.1), (False, 0.5, 0.2), (False, 0.01, 0.3), (False, 0.0, 0.3), (True, 1.0, 0.25), (True, 0.2, 0.75)],
)
def test_an_opening_counts_more_where_it_was_less_likely_and_never_as_much_as_a_vote(
    copied: bool, examined: float, weight: float
) -> None:
    assert use_weight(copied=copied, examined=examined) == pytest.approx(weight)
