"""What the terms of a question or a statement weigh among a few texts: the rarer, the more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set

from retrieval.engine.text.analysis import query_terms


def term_weights(question: str, pool: Sequence[Set[str]]) -> dict[str, float]:
    """The question's terms and what each weighs: inverse document frequency among the texts of `pool`.

    A term that none of them holds weighs most: that is how a question which the documents don't answer shows itself.
    """
    terms = dict.fromkeys(query_terms(question))
    return {term: rarity(sum(term in held for held in pool), len(pool)) for term in terms}


def rarity(holding: float, texts: int) -> float:
    """Inverse document frequency of a term that `holding` of `texts` texts have: above 0, the highest for none."""
    return math.log(1 + (texts + 1) / (holding + 0.5))


def held_share(weights: Mapping[str, float], terms: Set[str]) -> float:
    """The share, 0..1, of the weight that is among `terms`."""
    total = sum(weights.values())
    return (
        sum(weight for term, weight in weights.items() if term in terms) / total if total else 0.0
    )
