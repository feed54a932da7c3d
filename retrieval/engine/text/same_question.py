"""Do two questions want the same answer? Pure; rather no than a wrong yes.

Two ways to a yes: the same words (case, punctuation and the Chinese script make no difference), or a cosine of the
embeddings from SAME_COSINE on, unless they `differ`. What remains is for a chat model, which is asked about pairs of
rated questions in a round (`feedback.rounds.question_pairs`). No list of words and no spelling tells a negation or a
name: the one term in which two questions differ may be either, in any language.

SAME_COSINE was set on pairs written by hand, with MiniLM, so that of pairs that differ in one decisive word at most one
in twenty is taken for the same; docs/feedback.md has the figures.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from retrieval.engine.text.analysis import query_terms
from retrieval.engine.text.languages import to_simplified

Floats = NDArray[np.float32]
SAME_COSINE = 0.88
MAX_CHARS = 600  # a longer message is no question that somebody else asks again
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Wording:
    """A question as it is compared. plain: its text, spelt in one way. vector: float32, shape (dim,), unit length;
    None: not embedded."""

    plain: str
    vector: Floats | None = None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """In order."""
        return tuple(_WORD.findall(self.plain.casefold()))

    @cached_property
    def terms(self) -> frozenset[str]:
        """Analysed, without stop words, one stem a word: most questions are never compared by them."""
        return frozenset(query_terms(self.plain, language="en"))


def wording(text: str, vector: Floats | None = None) -> Wording:
    return Wording(to_simplified(unicodedata.normalize("NFKC", text[:MAX_CHARS])), vector)


def word_key(text: str) -> tuple[str, ...]:
    """The same for questions in the same words."""
    return wording(text).words or (text.strip(),)


def without_repeats(texts: Iterable[str]) -> list[str]:
    """The first of those in the same words."""
    by_words: dict[tuple[str, ...], str] = {}
    for text in texts:
        by_words.setdefault(word_key(text), text)
    return list(by_words.values())


def vector_encode(vector: Floats) -> bytes:
    """As little-endian float16."""
    return np.asarray(vector, dtype="<f2").tobytes()


def vector_decode(data: bytes | memoryview) -> Floats:
    return np.frombuffer(bytes(data), dtype="<f2").astype(np.float32)


def differ(first: Wording, second: Wording) -> bool:
    """Whether a number or a code stands in one of them alone, or they are one but for a single term of each.

    That term is then what they ask about, whatever the vectors say: people who say the same in other words change more
    than one.
    """
    numbers = [
        {word for word in one.words if any(map(str.isdigit, word))} for one in (first, second)
    ]
    return (
        numbers[0] != numbers[1]
        or 0 < max(len(first.terms - second.terms), len(second.terms - first.terms)) <= 1
    )


class KnownQuestions:
    """Questions to compare others with. It never changes, and 20,000 are looked through in some ms."""

    def __init__(self, wordings: Mapping[int, Wording]) -> None:
        """wordings: by the question's id; their vectors are all of one model."""
        self._wordings = wordings
        self._by_words: dict[tuple[str, ...], list[int]] = {}
        for question, own in wordings.items():
            self._by_words.setdefault(own.words, []).append(question)
        embedded = {
            question: own.vector for question, own in wordings.items() if own.vector is not None
        }
        self._embedded = list(embedded)
        self._vectors = (
            np.stack(list(embedded.values())) if embedded else np.empty((0, 0), np.float32)
        )

    def same(self, question: Wording, *, least_cosine: float = SAME_COSINE) -> list[int]:
        """Ids of those that want the same answer, those with its own words first, then the nearest."""
        found = dict.fromkeys(self.in_same_words(question))
        for question_id, _ in self.near(question, least_cosine=least_cosine):
            if not differ(question, self._wordings[question_id]):
                found.setdefault(question_id)
        return list(found)

    def in_same_words(self, question: Wording) -> list[int]:
        return self._by_words.get(question.words, [])

    def near(self, question: Wording, *, least_cosine: float) -> Sequence[tuple[int, float]]:
        """Ids with their cosines, the nearest first."""
        if question.vector is None or not self._embedded:
            return []
        # Not `@`: BLAS may share so small a product out to threads, and wait for them longer than it takes.
        cosines = np.einsum("ij,j->i", self._vectors, question.vector)
        near = np.flatnonzero(cosines >= least_cosine).tolist()
        return sorted(
            ((self._embedded[at], float(cosines[at])) for at in near), key=lambda item: -item[1]
        )
