"""BM25 over analysed texts, in memory: the reference for the engine's own leg."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

K1 = 0.9
B = 0.4
Vector = NDArray[np.float64]


class Bm25:
    """BM25 (Lucene's form) over analysed documents, held as postings."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        lengths = np.array([len(document) for document in documents], dtype=np.float64)
        norm = K1 * (1 - B + B * lengths / (lengths.mean() or 1.0))
        postings: dict[str, tuple[list[int], list[int]]] = {}
        for at, document in enumerate(documents):
            for term, count in Counter(document).items():
                places, counts = postings.setdefault(term, ([], []))
                places.append(at)
                counts.append(count)
        self.size = len(documents)
        self.frequency = {term: len(places) for term, (places, _) in postings.items()}
        self._postings: dict[str, tuple[NDArray[np.int64], Vector]] = {}
        for term, (places, counts) in postings.items():
            at_places = np.array(places)
            tf = np.array(counts, dtype=np.float64)
            self._postings[term] = (at_places, self.idf(term) * tf / (tf + norm[at_places]))

    def idf(self, term: str) -> float:
        found = self.frequency.get(term, 0)
        return math.log(1 + (self.size - found + 0.5) / (found + 0.5))

    def score(self, terms: Sequence[str]) -> Vector:
        scores = np.zeros(self.size)
        for term in terms:
            if term in self._postings:
                places, weights = self._postings[term]
                scores[places] += weights
        return scores
