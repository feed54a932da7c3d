"""Intervals of the comparison."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat.review.stats import wilson


@given(st.integers(0, 500), st.integers(0, 500))
def test_a_wilson_interval_holds_its_rate(hits: int, misses: int) -> None:
    low, high = wilson(hits, hits + misses)
    assert 0 <= low <= high <= 1
    if hits + misses:
        assert low <= hits / (hits + misses) <= high


def test_wilson_as_published() -> None:
    """Newcombe, Statistics in Medicine 1998, table I: 81 of 263."""
    assert [round(end, 4) for end in wilson(81, 263)] == [0.2553, 0.3662]
