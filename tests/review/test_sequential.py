"""The sequential test and the intervals: what they promise, by simulation with fixed seeds."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.review.figures.intervals import wilson
from chat.review.figures.sequential import block_sizes, evidence
from chat.review.figures.sketches import added, bucket, percentile

RUNS, BLOCKS = 400, 250
ALPHA = 0.05


def _stream(rng: random.Random, rate: float, count: int) -> list[bool]:
    return [rng.random() < rate for _ in range(count)]


def _rejected(rate_a: float, rate_b: float, sizes: tuple[int, int], *, runs: int = RUNS, seed: int = 7) -> float:
    """Of how many experiments, looked at after every block, the test ever says that there is a difference."""
    rng = random.Random(seed)
    rejected = 0
    for _ in range(runs):
        a, b = _stream(rng, rate_a, BLOCKS * sizes[0]), _stream(rng, rate_b, BLOCKS * sizes[1])
        rejected += evidence(a, b, sizes=sizes).rejects(ALPHA)
    return rejected / runs


@pytest.mark.parametrize("rate", [0.03, 0.5, 0.8])
@pytest.mark.parametrize("sizes", [(1, 1), (4, 1)])
def test_without_a_difference_it_is_wrong_in_five_of_a_hundred_at_most(rate: float, sizes: tuple[int, int]) -> None:
    assert _rejected(rate, rate, sizes) <= ALPHA


def test_a_look_at_every_block_with_a_plain_interval_would_be_wrong_far_more_often() -> None:
    """So that the test above can fail: the same looks with a test for one look."""
    rng, rejected = random.Random(7), 0
    for _ in range(RUNS):
        a, b = _stream(rng, 0.5, BLOCKS), _stream(rng, 0.5, BLOCKS)
        hits = [0, 0]
        for count in range(1, BLOCKS + 1):
            hits[0] += a[count - 1]
            hits[1] += b[count - 1]
            low, high = sorted(wilson(hit, count, z=1.386) for hit in hits)  # two intervals of 83 %: a test at 5 %
            if low[1] < high[0]:
                rejected += 1
                break
    assert rejected / RUNS > 3 * ALPHA


def test_a_large_difference_is_found() -> None:
    assert _rejected(0.5, 0.8, (1, 1), runs=60) > 0.9


def test_it_says_the_same_of_a_prefix_however_often_it_is_asked() -> None:
    rng = random.Random(3)
    a, b = _stream(rng, 0.2, 80), _stream(rng, 0.8, 80)
    highest = [evidence(a[:n], b[:n]).highest for n in range(81)]
    assert highest == sorted(highest)
    assert highest[0] == 1


def test_what_fills_no_block_waits() -> None:
    assert evidence([True] * 3, [True], sizes=(4, 1)).blocks == 0


@given(st.floats(0.05, 0.95))
def test_blocks_have_both_streams(share: float) -> None:
    a, b = block_sizes(share)
    assert min(a, b) == 1 <= max(a, b) <= 20


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
