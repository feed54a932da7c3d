"""Words that a text has to hold: looked for among the terms of the index, and confirmed on the text where these do not
settle it.

A word of letters is there where the index has one of its stems. A code, words without spaces between them (育婴假) and a
phrase are there where the text has them as they are written, whatever their case, width, script and line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ragsite.core.text import shortened
from retrieval.engine.text.analysis import terms_of, words_of
from retrieval.engine.text.chinese import STOP_WORDS
from retrieval.engine.text.languages import HAN_CHARACTER, detect_language
from retrieval.engine.text.spelling import folded, folded_places
from retrieval.engine.text.statements import without_emphasis, without_emphasis_places
from retrieval.engine.text.stop_words import ENGLISH
from retrieval.engine.text.words import fold_accents, known_word_terms
from retrieval.engine.values.counting import WordMatch

MAX_MENTIONS = 12  # words that one count looks for
EXCERPT_CHARS = 240
_EDGE = " \t\r\n.,;:!?\"'()[]{}<>«»“”‘’「」『』、。，；：！？（）"
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Mention:
    """What a text has to hold. groups: terms, of each group at least one. exact: folded, where the text itself has to
    be read; empty where the terms say it all."""

    groups: tuple[frozenset[str], ...]
    exact: str = ""

    def in_terms(self, terms: str) -> bool:
        """terms: of the index, separated by spaces, with one on either side."""
        return all(any(f" {term} " in terms for term in group) for group in self.groups)

    def in_text(self, text: str) -> bool:
        if self.exact:
            return _place_of(self.exact, folded(without_emphasis(text))) >= 0
        terms = terms_of(text)
        lowered = {fold_accents(token.lower()) for token in _TOKEN.findall(text)}
        return all(group & (terms | lowered) for group in self.groups)

    def place(self, text: str) -> tuple[int, int] | None:
        """Where it stands first in a text that holds it: from, to. None where that can't be said."""
        if self.exact:
            return self._written_at(text)
        language = detect_language(text)
        for token in _TOKEN.finditer(text):
            word = token.group()
            terms = {*known_word_terms(word, language, False), *terms_of(word)}
            if self.groups[0] & (terms | {fold_accents(word.lower())}):
                return token.start(), token.end()
        return None

    def _written_at(self, text: str) -> tuple[int, int] | None:
        plain, kept = without_emphasis_places(text)
        spelt, places = folded_places(plain)
        at = _place_of(self.exact, spelt)
        if at < 0:
            return None
        return kept[places[at]], kept[places[at + len(self.exact) - 1]] + 1


def _place_of(exact: str, spelt: str) -> int:
    """Both folded; -1: it is not there as words of its own."""
    at = spelt.find(exact)
    while at >= 0:
        end = at + len(exact)
        before = spelt[at - 1 : at] if at else ""
        if not _goes_on(before, exact[0]) and not _goes_on(spelt[end : end + 1], exact[-1]):
            return at
        at = spelt.find(exact, at + 1)
    return -1


def _goes_on(neighbour: str, edge: str) -> bool:
    """Whether a word that is written with spaces around it goes on there."""
    spaced = edge.isalnum() and not _is_unspaced(edge)
    return spaced and neighbour.isalnum() and not _is_unspaced(neighbour)


def _is_unspaced(character: str) -> bool:
    return (
        "\u0e00" <= character <= "\u0eff"
        or "\u1000" <= character <= "\u17ff"
        or ("\u2e80" <= character <= "\ud7af")
    )


def mentions_of(words: str, match: WordMatch) -> tuple[Mention, ...]:
    """What is to be held by a text; empty where nothing is left to look for (stop words alone): `words_left_out`."""
    language = detect_language(words)
    pieces = [piece for word in words.split() if (piece := word.strip(_EDGE))]
    if match == "phrase":
        exact = folded(" ".join(words.split()).strip(_EDGE))
        kept = [piece for piece in pieces if piece.lower() not in ENGLISH]
        groups = [group for piece in kept for group in _groups(piece, language)]
        return (Mention(tuple(dict.fromkeys(groups)), exact),) if exact else ()
    mentions: dict[Mention, None] = {}
    for piece in pieces:
        groups = _groups(piece, language)
        is_plain = _is_plain(piece, language)
        if groups and piece.lower() in ENGLISH:
            # Words of another language, which texts in English may have too, but their index has not.
            mentions[Mention((), folded(piece))] = None
        elif is_plain and groups:
            mentions[Mention(tuple(groups))] = None
        elif not is_plain:
            mentions[Mention(tuple(groups), folded(piece))] = None
    return tuple(mentions)


def _is_plain(piece: str, language: str) -> bool:
    """A word of letters, which the index's terms settle."""
    return piece.isalpha() and len(words_of(piece, language)) == 1


def _groups(piece: str, language: str) -> list[frozenset[str]]:
    """Terms that the index has of whatever text holds the piece."""
    found = words_of(piece, language)
    groups = [group for group in found if group and all(map(_is_indexed, group))]
    if len(found) == 1 and piece.isalpha() and groups:
        # What stands in capitals among others is indexed as it is written: POLICY, but polici.
        lowered = frozenset[str]().union(*words_of(piece.lower(), language))
        groups = [groups[0] | lowered | {fold_accents(piece.lower())}]
    return groups


def _is_indexed(term: str) -> bool:
    """Single characters are, of Chinese and of what is written with spaces."""
    if len(term) > 1 or not _is_unspaced(term):
        return True
    return bool(HAN_CHARACTER.match(term)) and term not in STOP_WORDS


def words_left_out(words: str, match: WordMatch) -> tuple[str, ...]:
    """Those that are not looked for, as the index holds them of no text: stop words among others."""
    if match == "phrase":
        return ()
    language = detect_language(words)
    pieces = [piece for word in words.split() if (piece := word.strip(_EDGE))]
    return tuple(
        dict.fromkeys(
            piece for piece in pieces if _is_plain(piece, language) and not _groups(piece, language)
        )
    )


def excerpts_around(text: str, mentions: Iterable[Mention]) -> list[tuple[int, int]]:
    """The parts of a passage where each of them stands first, in the text's order: whole words, EXCERPT_CHARS at most
    each. Its beginning where none stands in it."""
    if len(text) <= EXCERPT_CHARS:
        return [(0, len(text))]
    places = [place for mention in mentions if (place := mention.place(text))]
    excerpts: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if excerpts and end <= excerpts[-1][1]:
            continue
        excerpts.append(_excerpt(text, start, end))
    return excerpts or [_excerpt(text, 0, 1)]


def shown_around(text: str, mentions: Iterable[Mention], most: int) -> str:
    """At most `most` characters of it, with what is looked for; "…" where something is cut off."""
    if len(text) <= most:
        return text
    places = sorted(place for mention in mentions if (place := mention.place(text)))
    start = places[0][0] if places else 0
    if start < most // 2:
        return shortened(text, most)
    return "…" + shortened(text[start - most // 3 :].lstrip(), most - 1)


def _excerpt(text: str, start: int, end: int) -> tuple[int, int]:
    """EXCERPT_CHARS with this place in it, from blank to blank."""
    length = max(EXCERPT_CHARS, end - start)
    begin = max(0, min(start - (length - (end - start)) // 3, len(text) - length))
    over = min(len(text), begin + length)
    if begin:
        blank = text.find(" ", begin, start)
        begin = blank + 1 if blank >= 0 else begin
    if over < len(text):
        blank = text.rfind(" ", end, over)
        over = blank if blank >= 0 else over
    return begin, over
