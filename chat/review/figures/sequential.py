"""A test of two rates that may be looked at after every observation. Plain arithmetic.

The e-variable for two Bernoulli streams of Turner, Ly and Grünwald, "Generic E-variables for exact sequential k-sample
tests that allow for optional stopping", J. Statistical Planning and Inference 230, 2024 (arXiv:2106.02693): outcomes
come in blocks of a fixed number of each stream, and a block's factor is how much likelier it is under two rates,
learned from the blocks before it, than under the one rate between them. Under equal rates its expectation is at most
1, whatever the rate, so the product is a nonnegative supermartingale, and by Ville's inequality the probability that it
ever reaches 1/alpha is at most alpha, however often one looks and whenever one stops. Exact for any sample size.

Chosen over the mixture SPRT of Johari et al. (Operations Research 2022), which rests on a normal approximation that few
ratings do not bear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

PRIOR = 0.18  # pseudo-counts of either outcome before the first block: the paper's choice, by regret
MOST_OF_A_BLOCK = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Against equal rates. e_value: now; highest: at any look so far, which decides. blocks: that were counted."""

    e_value: float
    highest: float
    blocks: int

    def rejects(self, alpha: float) -> bool:
        return self.highest >= 1 / alpha


def block_sizes(share_b: float) -> tuple[int, int]:
    """How many outcomes of A and of B make a block, so that few have to wait: of the streams' proportion."""
    if share_b <= 0.5:
        return min(MOST_OF_A_BLOCK, max(1, round((1 - share_b) / share_b))), 1
    return 1, min(MOST_OF_A_BLOCK, max(1, round(share_b / (1 - share_b))))


def evidence(outcomes_a: Sequence[bool], outcomes_b: Sequence[bool], *, sizes: tuple[int, int] = (1, 1)) -> Evidence:
    """Of two streams in the order in which they came. What does not fill a block yet is left out."""
    size_a, size_b = sizes
    blocks = min(len(outcomes_a) // size_a, len(outcomes_b) // size_b)
    hits_a = hits_b = 0
    log_e = highest = 0.0
    for block in range(blocks):
        rate_a = (hits_a + PRIOR) / (block * size_a + 2 * PRIOR)
        rate_b = (hits_b + PRIOR) / (block * size_b + 2 * PRIOR)
        between = (size_a * rate_a + size_b * rate_b) / (size_a + size_b)
        new_a = sum(outcomes_a[block * size_a : (block + 1) * size_a])
        new_b = sum(outcomes_b[block * size_b : (block + 1) * size_b])
        log_e += _log_likelihood(new_a, size_a, rate_a) + _log_likelihood(new_b, size_b, rate_b)
        log_e -= _log_likelihood(new_a + new_b, size_a + size_b, between)
        highest = max(highest, log_e)
        hits_a += new_a
        hits_b += new_b
    return Evidence(e_value=math.exp(min(log_e, 700.0)), highest=math.exp(min(highest, 700.0)), blocks=blocks)


def _log_likelihood(hits: int, count: int, rate: float) -> float:
    return hits * math.log(rate) + (count - hits) * math.log1p(-rate)
