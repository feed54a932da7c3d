"""Embeddings without a model: hashed terms. Not meaning, but words, spelling and script, and always there.

Feature hashing with signs: Weinberger et al., ICML 2009. Terms come from `retrieval.text.analysis`, so stems meet and
so do Traditional and Simplified Chinese; character n-grams of longer words let misspellings and compounds meet.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from retrieval.ports import Vectors
from retrieval.text.analysis import analyze
from retrieval.values import EmbeddingSpace

DIM = 512
SPACE = EmbeddingSpace(model="lexical-hash-v1", dim=DIM)  # needs a new name whenever the code below gives other vectors
GRAM_CHARS = 4
GRAM_WEIGHT = 0.3  # of a whole term's


class LexicalEmbedder:
    """Deterministic: the same text has the same vector on every machine. Never unavailable."""

    @property
    def space(self) -> EmbeddingSpace:
        return SPACE

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await asyncio.to_thread(embed_texts, list(texts))

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self.embed_documents(texts)


def embed_texts(texts: Sequence[str]) -> Vectors:
    """float32, shape (len(texts), DIM), unit length."""
    vectors = np.zeros((len(texts), DIM), dtype=np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        for feature, weight in weights(text).items():
            position, sign = place(feature)
            vector[position] += sign * weight
        if not vector.any():  # features of opposite sign may cancel each other
            vector[0] = 1.0
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def weights(text: str) -> dict[str, float]:
    """Features with sublinear term frequency. A text without terms is its own single feature."""
    terms = Counter(analyze(text))
    if not terms:
        return {f"text:{text.strip()}": 1.0}
    features = {f"term:{term}": 1.0 + math.log(count) for term, count in terms.items()}
    grams = Counter(gram for term in terms for gram in _grams(term))
    features.update({f"gram:{gram}": GRAM_WEIGHT * (1.0 + math.log(count)) for gram, count in grams.items()})
    return features


def _grams(term: str) -> Iterator[str]:
    """Character n-grams of a word with its ends marked; short terms and Chinese bigrams are whole already."""
    if len(term) >= GRAM_CHARS:
        marked = f"<{term}>"
        yield from (marked[i : i + GRAM_CHARS] for i in range(len(marked) - GRAM_CHARS + 1))


@lru_cache(maxsize=100_000)
def place(feature: str) -> tuple[int, float]:
    """Where a feature stands in the vector, and its sign."""
    number = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")
    return number % DIM, 1.0 if number >> 63 else -1.0
