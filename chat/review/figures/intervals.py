"""How sure a rate is that was seen in few answers."""

from __future__ import annotations

import math

Z_95 = 1.959964


def wilson(hits: int, count: int, *, z: float = Z_95) -> tuple[float, float]:
    """The interval of a proportion, 0..1; (0, 1) where nothing was counted. It holds for one look, not for many.

    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927.
    """
    if count <= 0:
        return 0.0, 1.0
    share, squared = hits / count, z * z
    middle = share + squared / (2 * count)
    width = z * math.sqrt(share * (1 - share) / count + squared / (4 * count * count))
    low, high = (middle - width) / (1 + squared / count), (middle + width) / (1 + squared / count)
    return max(0.0, min(low, share)), min(1.0, max(high, share))  # rounding must not put the rate outside
