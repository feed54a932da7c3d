"""Intervals and percentiles of the dashboard."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat.review.figures.intervals import wilson
from chat.review.figures.sketches import added, bucket, percentile


@given(st.integers(0, 500), st.integers(0, 500))
def test_a_wilson_interval_holds_its_rate(hits: int, misses: int) -> None:
    low, high = wilson(hits, hits + misses)
    assert 0 <= low <= high <= 1
    if hits + misses:
        assert low <= hits / (hits + misses) <= high


def test_wilson_as_published() -> None:
    """Newcombe, Statistics in Medicine 1998, table I: 81 of 263."""
    assert [round(end, 4) for end in wilson(81, 263)] == [0.2553, 0.3662]


@given(st.lists(st.integers(1, 86_400_000), min_size=1, max_size=200))
def test_percentiles_of_added_sketches_are_near(times: list[int]) -> None:
    half = len(times) // 2
    sketches = []
    for part in (times[:half], times[half:]):
        sketch: dict[str, int] = {}
        for ms in part:
            sketch[bucket(ms)] = sketch.get(bucket(ms), 0) + 1
        sketches.append(sketch)
    found = percentile(added(sketches), 0.5)
    exact = sorted(times)[(len(times) - 1) // 2]
    assert found is not None
    assert abs(found - exact) <= 0.026 * exact + 1


def test_no_times_have_no_percentile() -> None:
    assert percentile({}, 0.5) is None
