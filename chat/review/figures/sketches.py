"""Times of many answers in a few counts that can be added: percentiles of any union of days.

Bucket i holds what lies in (GAMMA^(i-1), GAMMA^i] ms, so that a percentile is wrong by (GAMMA-1)/(GAMMA+1) at most,
2.4 %. Source: Masson, Rim and Lee, "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with Relative-Error
Guarantees", VLDB 2019; without its bound on buckets, since an answer's time has one: some 400 up to a day.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

GAMMA = 1.05
LONGEST_MS = 86_400_000
Sketch = Mapping[str, int]  # bucket → count; text, as JSON has its keys


def bucket(ms: float) -> str:
    """Of a time; what is below 1 ms is in the first one."""
    return str(max(0, math.ceil(math.log(min(max(ms, 1.0), LONGEST_MS)) / math.log(GAMMA))))


def added(sketches: Iterable[Sketch]) -> dict[str, int]:
    """The sketch of all their times."""
    total: dict[str, int] = {}
    for sketch in sketches:
        for key, count in sketch.items():
            total[key] = total.get(key, 0) + count
    return total


def percentile(sketch: Sketch, share: float) -> int | None:
    """In ms, of the time below which `share` (0..1) of all lie; None where there are none."""
    count = sum(sketch.values())
    if not count:
        return None
    rank, seen = share * (count - 1), 0
    for key in sorted(sketch, key=int):
        seen += sketch[key]
        if seen > rank:
            return round(2 * GAMMA ** int(key) / (GAMMA + 1))
    raise AssertionError("a rank is below the count")
