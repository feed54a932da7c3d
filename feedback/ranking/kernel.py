"""How near a new question is to rated ones: 1 is as good as the same, 0 is another question.

Meaning (cosine of the embeddings) and words (weighted Jaccard of the analysed terms) are each brought to 0..1 between
two thresholds by a smooth step; the nearer of the two counts, but a question that has none of the other's rarer words,
or another number, year or code, is held back: embeddings hardly tell those apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

COSINE_FROM = 0.75  # a new question nearer than this to a rated one begins to feel its boost …
COSINE_FULL = 0.9  # … and from here on, in full
OVERLAP_FROM = 0.4  # the same for the share of terms that both questions hold, weighted by rarity
OVERLAP_FULL = 0.8  # …


Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
LEAST_TO_CALIBRATE = 50  # questions with a vector
PAIRS = 4000
ABOVE = 0.3  # of the way from the background to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """Thresholds of cosine and term overlap."""

    cosine_from: float
    cosine_full: float
    overlap_from: float
    overlap_full: float

    def calibrated(self, vectors: Floats) -> Self:
        """With the cosine's thresholds raised where this model finds everything alike.

        Cosines of unrelated questions are near 0 with one embedding model and near 0.8 with another (E5; any English
        model on Chinese), so the rated questions themselves say where likeness begins: 99 % of the random pairs among
        them lie below it. vectors: shape (questions, dim), unit length; NaN rows are left out.
        """
        there = vectors[~np.isnan(vectors[:, 0])]
        if len(there) < LEAST_TO_CALIBRATE:
            return self
        draw = np.random.default_rng(0)
        one, other = draw.integers(0, len(there), (2, PAIRS))
        differ = one != other
        background = float(np.quantile(np.einsum("ij,ij->i", there[one[differ]], there[other[differ]]), 0.99))
        begin = max(self.cosine_from, background + ABOVE * (1.0 - background))
        full = max(self.cosine_full, begin + (1.0 - begin) * 2.0 / 3.0)
        return replace(self, cosine_from=min(begin, 0.998), cosine_full=min(full, 0.999))

    def meaning(self, cosine: Floats) -> Floats:
        """How near in meaning, 0..1. NaN, where a question has no vector: 0."""
        return smooth_step(np.nan_to_num(cosine, nan=-1.0), self.cosine_from, self.cosine_full)

    def nearness(self, meaning: Floats | None, overlap: Floats, same_numbers: NDArray[np.bool_]) -> Floats:
        """0..1 for each rated question. meaning: None where there are no vectors."""
        words = smooth_step(overlap, self.overlap_from, self.overlap_full)
        near = words if meaning is None else np.maximum(words, meaning)
        return np.where(same_numbers, near, 0.0).astype(np.float32)


def smooth_step(values: Floats, begin: float, full: float) -> Floats:
    """0 below `begin`, 1 from `full` on, without a corner between them."""
    part = np.clip((values - begin) / (full - begin), 0.0, 1.0)
    return np.asarray(part * part * (3.0 - 2.0 * part), dtype=np.float32)


def is_number(term: str) -> bool:
    return any(character.isdigit() for character in term)


class TermIndex:
    """The rated questions' terms, so that one question's overlap with all of them is a few array operations."""

    def __init__(self, terms_of: Sequence[Sequence[str]]) -> None:
        """terms_of: the distinct terms of each rated question."""
        rows: dict[str, list[int]] = {}
        for row, terms in enumerate(terms_of):
            for term in dict.fromkeys(terms):
                rows.setdefault(term, []).append(row)
        self._count = len(terms_of)
        self._rows = {term: np.asarray(found, dtype=np.int64) for term, found in rows.items()}
        self._sum = np.zeros(self._count, dtype=np.float32)
        self._numbers = np.zeros(self._count, dtype=np.int32)
        for term, found in self._rows.items():
            self._sum[found] += self.rarity(term)
            if is_number(term):
                self._numbers[found] += 1

    def __len__(self) -> int:
        return self._count

    def rarity(self, term: str) -> float:
        """ln(1 + N/n): what nearly every question holds says little."""
        return float(np.log1p((self._count + 1) / (len(self._rows.get(term, ())) + 1)))

    def compare(self, terms: Sequence[str]) -> tuple[Floats, NDArray[np.bool_]]:
        """Weighted Jaccard with every rated question, 0..1, and whether both hold the same numbers and codes."""
        shared = np.zeros(self._count, dtype=np.float32)
        numbers = np.zeros(self._count, dtype=np.int32)
        own, own_numbers = 0.0, 0
        for term in dict.fromkeys(terms):
            weight, found = self.rarity(term), self._rows.get(term)
            own += weight
            own_numbers += is_number(term)
            if found is not None:
                shared[found] += weight
                if is_number(term):
                    numbers[found] += 1
        union = self._sum + np.float32(own) - shared
        overlap = np.divide(shared, union, out=np.zeros_like(shared), where=union > 1e-9)
        return overlap, (numbers == self._numbers) & (numbers == own_numbers)
