"""How likely a reader was to look at a source, by its place on the page, and what opening it says then. Pure.

The model is position-based: a source is opened with probability θ(place) · γ(question, passage). What stands first is
looked at most, so raw counts of openings repeat the ranking. θ is found by comparing the same passage for the same
question at different places (intervention harvesting: Agarwal et al., "Estimating position bias without intrusive
interventions", WSDM 2019; the model as in Wang et al., "Position bias estimation for unbiased learning to rank in
personal search", WSDM 2018). γ falls out: given how often a passage was opened in all, its openings are shared among
the places in proportion to θ(place) · times shown there. The likelihood of that is consistent whatever the distribution
of openings is, as long as their mean is θ · γ, and is maximised by repeated averaging (Hunter, "MM algorithms for
generalized Bradley-Terry models", Annals of Statistics 32, 2004).

An opening is evidence weighed by 1 / θ, clipped (Joachims et al., "Unbiased learning-to-rank with biased feedback",
WSDM 2017). Clipping keeps the variance bounded where θ is small. Not opening a source is no evidence.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.attribution import CitedSource

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
PLACES = 12  # that are told apart; the last stands for all behind it
PRIOR_EXPONENT = 0.5  # without data place k is looked at k^-0.5 times as often as the first
PRIOR_OPENINGS = 20.0  # openings at each place that the prior counts as
ITERATIONS, TOLERANCE = 200, 1e-6
OPENED, COPIED = 0.1, 0.25  # of an explicit vote, for a source that was looked at for sure
MOST_INVERSE = 3.0  # 1 / θ counts no more


def page_places(sources: Iterable[CitedSource]) -> dict[int, int]:
    """By marker, the place among an answer's sources on the page, from 1: the cited ones come first."""
    ordered = sorted(sources, key=lambda source: (not source.cited, source.marker))
    return {source.marker: place for place, source in enumerate(ordered, start=1)}


def prior_examination() -> Floats:
    """Shape (PLACES,): 1, 0.71, 0.58, …"""
    return np.arange(1, PLACES + 1, dtype=np.float64) ** -PRIOR_EXPONENT


def examination(item: Ints, place: Ints, opened: NDArray[np.bool_]) -> Floats:
    """θ by place, relative to the first: shape (PLACES,), 0 < θ ≤ 1. One row for each time that a source was shown.

    item: of rows with the same question and passage the same number. place: from 1. Only items that were shown at
    several places and opened at least once tell anything; without any, it is the prior.
    """
    column = np.clip(place, 1, PLACES) - 1
    numbers, row = np.unique(item, return_inverse=True)
    shown = np.zeros((len(numbers), PLACES))
    openings = np.zeros((len(numbers), PLACES))
    np.add.at(shown, (row, column), 1.0)
    np.add.at(openings, (row, column), opened.astype(np.float64))
    telling = ((shown > 0).sum(axis=1) > 1) & (openings.sum(axis=1) > 0)
    shown, openings = shown[telling], openings[telling]
    prior = prior_examination()
    at_place, of_item = openings.sum(axis=0), openings.sum(axis=1)
    theta = prior.copy()
    for _ in range(ITERATIONS):
        expected = (of_item / np.einsum("ij,j->i", shown, theta)) @ shown  # openings at each place, were θ 1 there
        new = (at_place + PRIOR_OPENINGS) / (expected + PRIOR_OPENINGS / prior)
        moved = float(np.abs(new - theta).max())
        theta = new
        if moved < TOLERANCE:
            break
    return np.asarray(np.minimum(theta / theta[0], 1.0))


def use_weight(*, copied: bool, examined: float) -> float:
    """What opening a source, or copying from it, counts for its passage: 0.1 … 0.3, copied 0.25 … 0.75.

    examined: θ of its place, 0..1.
    """
    return (COPIED if copied else OPENED) * min(MOST_INVERSE, 1.0 / max(examined, 1.0 / MOST_INVERSE))
