"""How much of a statement a passage holds, and where in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from retrieval.text.analysis import analyze, detect_language, held_share, query_terms, rarity
from retrieval.text.numbers import known_numbers, number_term, stated_numbers
from retrieval.text.statements import sentence_spans
from retrieval.values import StoredChunk

QUESTION_SHARE = 0.15  # of its weight that a word keeps which the question holds already
NEIGHBOUR_GAIN = 0.2  # share of the weight that the next sentence must add to be evidence as well
MAX_SENTENCES = 200  # of a passage


@dataclass(frozen=True, slots=True)
class Place:
    """`text[start:end]` of a passage: one sentence, or two neighbours. terms: their words, and their numbers as #7."""

    start: int
    end: int
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of a statement and a passage. near: the share of the statement's weight, 0..1, in the best two neighbouring
    sentences; whole: in the passage with its title. place: where most of it stands."""

    near: float
    whole: float
    place: Place


def overlap(weights: Mapping[str, float], passage: StoredChunk) -> Overlap:
    """`weights`: see `statement_weights`. What stands beside the text counts for every sentence."""
    beside, sentences = terms_beside(passage), sentences_of(passage.text)
    pairs = [
        Place(one.start, other.end, one.terms | other.terms)
        for one, other in zip(sentences, (*sentences[1:], sentences[-1]), strict=True)
    ]
    alone, paired = ([held_share(weights, place.terms | beside) for place in places] for places in (sentences, pairs))
    best = max(range(len(sentences)), key=lambda at: (round(alone[at], 6), -at))
    pair = max(range(max(0, best - 1), best + 1), key=lambda at: paired[at])
    place = pairs[pair] if paired[pair] - alone[best] >= NEIGHBOUR_GAIN else sentences[best]
    return Overlap(max(paired), held_share(weights, passage_terms(passage)), place)


def statement_weights(
    statement: str, question: str, passages: Sequence[StoredChunk], *, number_share: float
) -> dict[str, float]:
    """What each of the statement's words weighs, more where few of the passages hold it (one that none holds,
    as one that one holds); its numbers have `number_share` of the whole."""
    held = [passage_terms(passage) for passage in passages]
    old_terms = frozenset(query_terms(question))
    weights = {
        term: rarity(max(1, sum(term in terms for terms in held)), len(held))
        * (QUESTION_SHARE if term in old_terms else 1.0)
        for term in query_terms(statement)
        if not term.isnumeric()  # they are looked up by their value
    }
    numbers = stated_numbers(statement)
    each = number_share / (1 - number_share) * (sum(weights.values()) or 1.0) / (len(numbers) or 1)
    return weights | {number_term(value): each for value in numbers}


def passage_terms(passage: StoredChunk) -> frozenset[str]:
    return _terms(passage.text) | terms_beside(passage)


def terms_beside(passage: StoredChunk) -> frozenset[str]:
    facts = (passage.title, passage.heading, passage.department, passage.doc_type, passage.file_name, passage.published)
    return _terms("\n".join((*facts, str(passage.policy_year or ""), str(passage.page or ""))))


def same_language(left: str, right: str) -> bool:
    """Simplified and Traditional Chinese are one; a text without letters fits any."""
    languages = _language_of(left), _language_of(right)
    return "und" in languages or languages[0].split("-")[0] == languages[1].split("-")[0]


@lru_cache(maxsize=1024)
def sentences_of(text: str) -> tuple[Place, ...]:
    """One at least."""
    places = [Place(span.start, span.end, _terms(span.text)) for span in sentence_spans(text)[:MAX_SENTENCES]]
    return tuple(places) or (Place(0, 0, frozenset()),)


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    return frozenset({*analyze(text), *map(number_term, known_numbers(text))})


_language_of = lru_cache(maxsize=1024)(detect_language)
