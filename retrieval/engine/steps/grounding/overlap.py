"""How much of a statement a passage holds, and where in it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from retrieval.engine.text.analysis import analyze, query_terms
from retrieval.engine.text.languages import (
    HAN,
    KANA,
    UNKNOWN,
    detect_language,
    shown_language,
    to_simplified,
)
from retrieval.engine.text.numbers import known_numbers, number_term, stated_numbers
from retrieval.engine.text.sentences import sentence_spans
from retrieval.engine.text.term_weights import held_share, rarity
from retrieval.engine.text.words import fold_accents
from retrieval.engine.values import StoredChunk

QUESTION_SHARE = 0.15  # of its weight that a word keeps which the question holds already
NEIGHBOUR_GAIN = 0.2  # share of the weight that the next sentence must add to be evidence as well
MAX_SENTENCES = 200  # of a passage
# Shares of a statement's words, small ones included, below which passages are in another language: where letters or
# accents of it occur in none of them, and where all of them look as if they were.
COMMON_LETTERS_STRANGE = 0.15
COMMON_GUESS_DIFFERS = 0.25
STRANGE_LETTERS = 2
TELLING_WORDS = (
    5  # that a statement needs, and passages, for it to tell anything that they have none in common
)
TELLING_PASSAGES = 60
VOCABULARY_CHARS = 20_000  # of a text that are read
_UNSPACED = (
    HAN + KANA + r"\u0e01-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3"
)  # scripts without blanks between words
_WRITTEN = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W\d_])+")


@dataclass(frozen=True, slots=True)
class SentencePlace:
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
    place: SentencePlace


def overlap(weights: Mapping[str, float], passage: StoredChunk) -> Overlap:
    """`weights`: see `statement_weights`. What stands beside the text counts for every sentence."""
    beside = terms_beside(passage)
    sentences = sentences_of(passage.text)
    followers = (*sentences[1:], sentences[-1])
    pairs: list[SentencePlace] = []
    for sentence, follower in zip(sentences, followers, strict=True):
        pairs.append(SentencePlace(sentence.start, follower.end, sentence.terms | follower.terms))
    alone = [held_share(weights, sentence.terms | beside) for sentence in sentences]
    paired = [held_share(weights, pair.terms | beside) for pair in pairs]
    best = max(range(len(sentences)), key=lambda at: (round(alone[at], 6), -at))
    with_neighbour = max(range(max(0, best - 1), best + 1), key=lambda at: paired[at])
    gain = paired[with_neighbour] - alone[best]
    place = pairs[with_neighbour] if gain >= NEIGHBOUR_GAIN else sentences[best]
    return Overlap(max(paired), held_share(weights, passage_terms(passage)), place)


def statement_weights(
    statement: str,
    question: str,
    passages: Sequence[StoredChunk],
    *,
    number_share: float,
) -> dict[str, float]:
    """What each of the statement's words weighs, more where few of the passages hold it (one that none holds,
    as one that one holds); its numbers have `number_share` of the whole."""
    held = [passage_terms(passage) for passage in passages]
    old_terms = frozenset(query_terms(question))
    weights: dict[str, float] = {}
    for term in query_terms(statement):
        if term.isnumeric():  # numbers are looked up by their value
            continue
        holding = sum(term in terms for terms in held)
        weights[term] = rarity(max(1, holding), len(held))
        if term in old_terms:
            weights[term] *= QUESTION_SHARE
    numbers = stated_numbers(statement)
    of_words = sum(weights.values()) or 1.0
    of_numbers = of_words * number_share / (1 - number_share)
    for value in numbers:
        weights[number_term(value)] = of_numbers / len(numbers)
    return weights


def passage_terms(passage: StoredChunk) -> frozenset[str]:
    return _terms(passage.text) | terms_beside(passage)


def terms_beside(passage: StoredChunk) -> frozenset[str]:
    facts = (
        passage.title,
        passage.heading,
        passage.department,
        passage.doc_type,
        passage.file_name,
        passage.published,
        str(passage.policy_year or ""),
        str(passage.page or ""),
    )
    return _terms("\n".join(facts))


def is_comparable(statement: str, passages: Sequence[StoredChunk]) -> bool:
    """Whether the passages' words can say anything about the statement: whether one of them may be in its language.

    Asked about what the passages do not hold: what they hold is in their language. Texts of one language share its
    letters and its small words whatever they are about. A guess of the languages is heard as well; by itself it decides
    nothing.
    """
    own = vocabulary(statement)
    known = frozenset[str]().union(*(vocabulary(passage.text) for passage in passages))
    common = len(own & known) / len(own) if own else 1.0
    own_letters = _letters(own)
    known_letters = _letters(known)
    if common < COMMON_LETTERS_STRANGE and _are_strange(own_letters, known_letters):
        return False
    if common < COMMON_GUESS_DIFFERS and all(
        _guesses_differ(statement, passage.text) for passage in passages
    ):
        return False
    return (
        bool(common or own_letters & known_letters)
        or len(own) < TELLING_WORDS
        or len(known) < TELLING_PASSAGES
    )


def _guesses_differ(statement: str, passage: str) -> bool:
    """Simplified and Traditional Chinese are one; a text that shows no language differs from none, nor does one that
    holds a sentence in another script than most of it."""
    languages = {shown_language(statement), shown_language(passage)}
    if UNKNOWN in languages or len(languages) == 1:
        return False
    script = _main_script(statement)
    return script == _main_script(passage) or script not in _scripts(passage)


@lru_cache(maxsize=4096)
def _scripts(text: str) -> Counter[str]:
    """Of its letters, by Unicode's names (`LATIN`, `CYRILLIC`); kana are `CJK` as well."""
    counted = Counter(map(_script_of, filter(str.isalpha, text[:VOCABULARY_CHARS])))
    for kana in ("HIRAGANA", "KATAKANA"):
        counted["CJK"] += counted.pop(kana, 0)
    return +counted


def _main_script(text: str) -> str:
    found = _scripts(text).most_common(1)
    return found[0][0] if found else ""


@lru_cache(maxsize=4096)
def vocabulary(text: str) -> frozenset[str]:
    """The words of a text as they are written, small ones included; characters where no blanks part words."""
    return frozenset(_WRITTEN.findall(to_simplified(text[:VOCABULARY_CHARS]).casefold()))


def _are_strange(own: frozenset[str], known: frozenset[str]) -> bool:
    """Whether a script of the statement, or most of its accents and special letters, occur nowhere in the passages."""
    missing = own - known
    has_other_script = any(len(letter) > 1 for letter in missing)
    return has_other_script or (len(missing) >= STRANGE_LETTERS and len(missing) > len(own) / 2)


def _letters(words: Iterable[str]) -> frozenset[str]:
    """What is written but a–z: the names of other scripts, and each accent and special letter of the Latin one."""
    letters = {
        letter for letter in unicodedata.normalize("NFD", "".join(words)) if not letter.isascii()
    }
    scripts = {letter: _script_of(letter) for letter in letters}
    return frozenset(
        letter if scripts[letter] in ("", "LATIN") else scripts[letter] for letter in letters
    )


@lru_cache(maxsize=4096)
def _script_of(letter: str) -> str:
    """By Unicode's name of the letter: `CYRILLIC`, `CJK`; empty for accents and signs that go along with any script."""
    if unicodedata.category(letter) not in ("Lu", "Ll", "Lo"):
        return ""
    return re.split("[ -]", unicodedata.name(letter, ""), maxsplit=1)[0]


@lru_cache(maxsize=1024)
def sentences_of(text: str) -> tuple[SentencePlace, ...]:
    """One at least. The words of each have the stems of the language that the whole text shows."""
    language = detect_language(text)
    places = [
        SentencePlace(span.start, span.end, _terms(span.text, language))
        for span in sentence_spans(text)[:MAX_SENTENCES]
    ]
    return tuple(places) or (SentencePlace(0, 0, frozenset()),)


@lru_cache(maxsize=4096)
def _terms(text: str, language: str = "") -> frozenset[str]:
    """The words as they are written, too: a short statement may be taken for another language than the passage; then
    other stems are made of it, and other small words are left out."""
    written = (fold_accents(word) for word in vocabulary(text) if len(word) > 1)
    return frozenset(
        {
            *analyze(text, language=language),
            *written,
            *map(number_term, known_numbers(text)),
        }
    )
