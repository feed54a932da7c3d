"""What a passage offers: the terms of each of its sentences, and of its title and heading."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from retrieval.text.analysis import analyze
from retrieval.text.sentences import split_sentences

CACHED_PASSAGES = 4096
MAX_SENTENCES = 200


@dataclass(frozen=True, slots=True)
class SentenceView:
    text: str
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class PassageView:
    """`terms`: how often each occurs in the text. `head`: those of title and heading. `length`: terms of the text."""

    sentences: tuple[SentenceView, ...]
    terms: Mapping[str, int]
    head: frozenset[str]
    length: int

    def holds(self, term: str) -> bool:
        return term in self.terms or term in self.head


@lru_cache(maxsize=CACHED_PASSAGES)
def view_passage(head: str, text: str) -> PassageView:
    """`head`: title and heading. Cached, since the passages of one collection come up again and again."""
    text = unicodedata.normalize("NFKC", text)
    sentences, counts = [], Counter[str]()
    for sentence in split_sentences(text)[:MAX_SENTENCES]:
        view, terms = view_sentence(sentence)
        sentences.append(view)
        counts.update(terms)
    return PassageView(tuple(sentences), counts, frozenset(analyze(head)), counts.total())


def view_sentence(text: str) -> tuple[SentenceView, list[str]]:
    """The sentence, and its terms in order, as often as they occur."""
    terms = analyze(text)
    return SentenceView(text=text, terms=frozenset(terms)), terms
