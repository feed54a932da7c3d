"""How similar a new question is to rated ones, 0..1: 1 asks the same, 0 asks something else. Pure.

The cosine of the embeddings and the overlap of the terms (weighted Jaccard) are each mapped to 0..1 by a smooth step
between two thresholds, and the higher of the two counts. Questions with different numbers, years or codes have
similarity 0, because embeddings of such questions are nearly equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from retrieval.values import EmbeddingSpace

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
COSINE_FROM, COSINE_FULL = 0.75, 0.9  # cosine from which the similarity is above 0, and from which it is 1
OVERLAP_FROM, OVERLAP_FULL = 0.4, 0.8  # the same for the overlap of terms
LEAST_TO_CALIBRATE = 50  # questions with a vector
PAIRS = 4000
ABOVE = 0.3  # of the way from the cosine of unrelated questions to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A new question, to be compared with rated ones. terms: analysed, distinct.

    vectors: by space, float32, shape (dim,), unit length; a space whose model could not be asked is missing.
    """

    text: str
    terms: Sequence[str]
    vectors: Mapping[EmbeddingSpace, Floats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSimilarity:
    """Thresholds. A cosine or an overlap below `…_from` gives 0, from `…_full` on 1."""

    cosine_from: float
    cosine_full: float
    overlap_from: float
    overlap_full: float

    def calibrated(self, vectors: Floats) -> Self:
        """With higher thresholds of the cosine, where this model gives unrelated questions a high cosine.

        That is near 0 with one embedding model and near 0.8 with another (E5; any English model on Chinese). So it is
        measured on random pairs of the rated questions: 99 % of them have to lie below the threshold. vectors: float32,
        shape (questions, dim), unit length; rows of NaN are left out.
        """
        known = vectors[~np.isnan(vectors[:, 0])]
        if len(known) < LEAST_TO_CALIBRATE:
            return self
        left, right = np.random.default_rng(0).integers(0, len(known), (2, PAIRS))
        differ = left != right
        background = float(np.quantile(np.einsum("ij,ij->i", known[left[differ]], known[right[differ]]), 0.99))
        begin = max(self.cosine_from, background + ABOVE * (1.0 - background))
        full = max(self.cosine_full, begin + (1.0 - begin) * 2.0 / 3.0)
        return replace(self, cosine_from=min(begin, 0.998), cosine_full=min(full, 0.999))

    def by_vectors(self, cosine: Floats) -> Floats:
        """0..1 for each cosine. NaN, where a question has no vector, gives 0."""
        return smooth_step(np.nan_to_num(cosine, nan=-1.0), self.cosine_from, self.cosine_full)

    def combined(self, by_vectors: Floats | None, overlap: Floats, same_numbers: NDArray[np.bool_]) -> Floats:
        """0..1 for each rated question; all arrays have shape (questions,). by_vectors: None where there are none."""
        by_terms = smooth_step(overlap, self.overlap_from, self.overlap_full)
        similarity = by_terms if by_vectors is None else np.maximum(by_terms, by_vectors)
        return np.where(same_numbers, similarity, 0.0).astype(np.float32)


def smooth_step(values: Floats, begin: float, full: float) -> Floats:
    """0 up to `begin`, 1 from `full` on, and 3t² − 2t³ between them."""
    part = np.clip((values - begin) / (full - begin), 0.0, 1.0)
    return np.asarray(part * part * (3.0 - 2.0 * part), dtype=np.float32)


def is_number(term: str) -> bool:
    return any(character.isdigit() for character in term)


class TermIndex:
    """An inverted index of the rated questions' terms: one question is compared with all of them in a few steps."""

    def __init__(self, terms_of: Sequence[Sequence[str]]) -> None:
        """terms_of: the distinct terms of each rated question."""
        rows: dict[str, list[int]] = {}
        for row, terms in enumerate(terms_of):
            for term in dict.fromkeys(terms):
                rows.setdefault(term, []).append(row)
        self._count = len(terms_of)
        self._rows = {term: np.asarray(holders, dtype=np.int64) for term, holders in rows.items()}
        self._sum = np.zeros(self._count, dtype=np.float32)
        self._numbers = np.zeros(self._count, dtype=np.int32)
        for term, holders in self._rows.items():
            self._sum[holders] += self.rarity(term)
            self._numbers[holders] += is_number(term)

    def __len__(self) -> int:
        return self._count

    def rarity(self, term: str) -> float:
        """ln(1 + (N + 1) / (n + 1)), where n of the N questions hold the term."""
        return float(np.log1p((self._count + 1) / (len(self._rows.get(term, ())) + 1)))

    def holders(self) -> dict[str, int]:
        """Of each term, how many of the questions hold it."""
        return {term: len(rows) for term, rows in self._rows.items()}

    def compare(self, terms: Sequence[str]) -> tuple[Floats, NDArray[np.bool_]]:
        """With every rated question: weighted Jaccard, 0..1, and whether both hold the same numbers and codes.

        Both have shape (questions,).
        """
        shared = np.zeros(self._count, dtype=np.float32)
        shared_numbers = np.zeros(self._count, dtype=np.int32)
        own, own_numbers = 0.0, 0
        for term in dict.fromkeys(terms):
            weight, holders = self.rarity(term), self._rows.get(term)
            own += weight
            own_numbers += is_number(term)
            if holders is not None:
                shared[holders] += weight
                shared_numbers[holders] += is_number(term)
        union = self._sum + np.float32(own) - shared
        overlap = np.divide(shared, union, out=np.zeros_like(shared), where=union > 1e-9)
        return overlap, (shared_numbers == self._numbers) & (shared_numbers == own_numbers)
