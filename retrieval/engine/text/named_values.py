"""Which of the documents' own departments, types, years and tags a text names: a look-up, no rule over language.

Words are compared by their stems, so "libraries" names the department Library; Chinese by its characters, Traditional
folded to Simplified; numbers as wholes. A value of several words is named where they stand beside each other. Where one
value is a part of another that is named, the longer one counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from retrieval.engine.text.analysis import Word, words_of
from retrieval.engine.text.languages import detect_language
from retrieval.engine.values import Vocabulary

MAX_VALUES = 5_000  # of a vocabulary that are looked up
KNOWN_VOCABULARIES = 64
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)")
_CHINESE_YEAR = re.compile("[〇零一二三四五六七八九]{4}(?=年)")
_CHINESE_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")


@dataclass(frozen=True, slots=True)
class _Named:
    """words: of the text, from the first to the one after the last."""

    field: str
    value: str
    start: int
    end: int

    def holds(self, other: _Named) -> bool:
        return (
            self.start <= other.start
            and other.end <= self.end
            and self.end - self.start > other.end - other.start
        )


def named_values(text: str, vocabulary: Vocabulary) -> Vocabulary:
    """Of the vocabulary what the text names, in its order."""
    language = detect_language(text)
    words = words_of(text, language)
    values = _by_first_term(vocabulary, language)
    named = list(_named(words, values))
    longest = {
        (one.field, one.value) for one in named if not any(other.holds(one) for other in named)
    }
    years = set(years_in(text))
    return Vocabulary(
        departments=tuple(
            value for value in vocabulary.departments if ("departments", value) in longest
        ),
        doc_types=tuple(value for value in vocabulary.doc_types if ("doc_types", value) in longest),
        policy_years=tuple(year for year in vocabulary.policy_years if year in years),
        tags=tuple(value for value in vocabulary.tags if ("tags", value) in longest),
    )


def years_in(text: str) -> list[int]:
    """The years 1900 to 2099 that a text names in digits, in order, each once."""
    plain = unicodedata.normalize("NFKC", text)
    plain = _CHINESE_YEAR.sub(lambda year: year[0].translate(_CHINESE_DIGITS), plain)
    return list(dict.fromkeys(int(year) for year in _YEAR.findall(plain)))


def _named(
    words: Sequence[Word], values: dict[str, list[tuple[str, str, tuple[Word, ...]]]]
) -> Iterator[_Named]:
    for start, word in enumerate(words):
        for term in word:
            for field, value, needed in values.get(term, ()):
                end = start + len(needed)
                if end <= len(words) and all(map(_meet, needed, words[start:end])):
                    yield _Named(field, value, start, end)


def _meet(one: Word, other: Word) -> bool:
    return not one.isdisjoint(other) or not (one or other)


@lru_cache(maxsize=KNOWN_VOCABULARIES)
def _by_first_term(
    vocabulary: Vocabulary, language: str
) -> dict[str, list[tuple[str, str, tuple[Word, ...]]]]:
    """Field, value and its words, by each term of the first word. Of a single letter or character nothing is known."""
    values: dict[str, list[tuple[str, str, tuple[Word, ...]]]] = {}
    fields = (
        ("departments", vocabulary.departments),
        ("doc_types", vocabulary.doc_types),
        ("tags", vocabulary.tags),
    )
    for field, texts in fields:
        for text in texts[:MAX_VALUES]:
            words = _without_stop_words_around(words_of(text, language))
            if len("".join(text.split())) > 1 and words:
                for term in words[0]:
                    values.setdefault(term, []).append((field, text, words))
    return values


def _without_stop_words_around(words: Sequence[Word]) -> tuple[Word, ...]:
    """The Library is named by "Library"."""
    places = [at for at, word in enumerate(words) if word]
    return tuple(words[places[0] : places[-1] + 1]) if places else ()
