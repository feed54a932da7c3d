"""What a passage offers: the terms of each of its sentences, and the names, numbers and dates in them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from retrieval.answerability.spans import plain
from retrieval.text.analysis import analyze
from retrieval.text.language import HAN_CHARACTER, to_simplified
from retrieval.text.negation import NEGATION
from retrieval.text.numbers import numbers_in
from retrieval.text.sentences import split_sentences

CACHED_PASSAGES = 4096
MAX_SENTENCES = 200
PREFIX_CHARS = 4
_DATE = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|century|centuries)\b"
    r"|\b1\d{3}s?\b|\b20\d\ds?\b|\d\s*[年月日]|世纪|年代",
    re.IGNORECASE,
)
_NUMBER_WORD = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundreds?|thousands?"
    r"|millions?|billions?|half|third|quarter|dozen|once|twice|several)\b|[一二两三四五六七八九十百千万亿]",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|due to|as a result|therefore|so that|in order to|caused?|reason|led to|thus)\b"
    r"|因为|由于|因此|所以|为了|导致|原因|致使",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b\d{1,2}[:：]\d\d|\b\d{1,2}\s*[ap]\.?m\b|\b(?:o'clock|noon|midnight)\b|[\d一二三四五六七八九十]\s*[点时](?!间)"
    r"|中午|正午|午夜",
    re.IGNORECASE,
)
KINDS = {"time": _TIME, "date": _DATE, "number": _NUMBER_WORD, "reason": _REASON}
_CAPITAL = re.compile(r"\b[A-Z\u00c0-\u00de][\w'’-]+")


@dataclass(frozen=True)
class SentenceView:
    """`order`: every term's first place. What few sentences are asked for is read when it is asked for."""

    text: str
    terms: frozenset[str]
    order: Mapping[str, int]

    @cached_property
    def names(self) -> frozenset[str]:
        """Its words with a capital, in small letters."""
        return capitals_in(self.text)

    @cached_property
    def negated(self) -> bool:
        return bool(NEGATION.search(self.simplified))

    @cached_property
    def simplified(self) -> str:
        return to_simplified(self.text)

    @cached_property
    def folded(self) -> str:
        return self.simplified.lower()


@dataclass(frozen=True)
class PassageView:
    """`terms`: how often each occurs in the text. `head`: those of title and heading. `length`: terms of the text.
    `title`: title and heading as written; `text`: NFKC."""

    title: str = field(repr=False)
    text: str = field(repr=False)
    sentences: tuple[SentenceView, ...]
    terms: Mapping[str, int]
    head: frozenset[str]
    numbers: frozenset[str]
    length: int
    prefixes: Mapping[str, tuple[str, ...]] = field(repr=False)

    @cached_property
    def plain(self) -> str:
        """Title, heading and text as names are looked for in them (`retrieval.answerability.spans`)."""
        return plain(f"{self.title}\n{self.text}")

    @cached_property
    def simplified(self) -> str:
        return to_simplified(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        return capitals_in(self.text)

    def holds(self, term: str) -> bool:
        return term in self.terms or term in self.head

    def credit(self, term: str) -> float:
        """1 for a term that is there; less when only a relative is: a shared beginning, or parts of a Chinese word."""
        if self.holds(term):
            return 1.0
        if HAN_CHARACTER.match(term):
            pairs = [term[at : at + 2] for at in range(len(term) - 1)]
            return sum(map(self.holds, pairs)) / len(pairs) * 0.8 if len(pairs) > 1 else 0.0
        return max((likeness(term, relative) for relative in self.relatives(term)), default=0.0)

    def relatives(self, term: str) -> tuple[str, ...]:
        """Latin terms with the same beginning."""
        return self.prefixes.get(term[:PREFIX_CHARS], ()) if len(term) >= PREFIX_CHARS else ()


@lru_cache(maxsize=CACHED_PASSAGES)
def view_passage(head: str, text: str) -> PassageView:
    """`head`: title and heading. Cached, since the passages of one collection come up again and again."""
    text = unicodedata.normalize("NFKC", text)
    sentences = tuple(view_sentence(sentence) for sentence in split_sentences(text)[:MAX_SENTENCES])
    counts: Counter[str] = Counter()
    for _, terms in sentences:
        counts.update(terms)
    head_terms = frozenset(analyze(head))
    by_prefix: dict[str, list[str]] = {}
    for term in counts.keys() | head_terms:
        if len(term) > PREFIX_CHARS and not HAN_CHARACTER.match(term):
            by_prefix.setdefault(term[:PREFIX_CHARS], []).append(term)
    return PassageView(
        title=head,
        text=text,
        sentences=tuple(view for view, _ in sentences),
        terms=counts,
        head=head_terms,
        numbers=frozenset(numbers_in(f"{head}\n{text}")),
        length=counts.total(),
        prefixes={prefix: tuple(terms) for prefix, terms in by_prefix.items()},
    )


def view_sentence(text: str) -> tuple[SentenceView, list[str]]:
    """The sentence, and its terms in order, as often as they occur."""
    terms = analyze(text)
    order: dict[str, int] = {}
    for place, term in enumerate(terms):
        order.setdefault(term, place)
    return SentenceView(text=text, terms=frozenset(order), order=order), terms


def capitals_in(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _CAPITAL.findall(text))


def likeness(left: str, right: str) -> float:
    """The share of the longer term that both begin with, 0..1; under 60 % counts as nothing."""
    shared = 0
    for first, second in zip(left, right, strict=False):
        if first != second:
            break
        shared += 1
    share = shared / max(len(left), len(right))
    return share if share >= 0.6 else 0.0
