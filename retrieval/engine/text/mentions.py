"""Words that a text has to hold: looked for among the terms of the index, and confirmed on the text where these do not
settle it.

A word of letters is there where the index has one of its stems. A code, words without spaces between them (育婴假) and a
phrase are there where the text has them as they are written, whatever their case, width, script and line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from retrieval.engine.text.analysis import terms_of, words_of
from retrieval.engine.text.chinese import STOP_WORDS
from retrieval.engine.text.languages import HAN_CHARACTER, detect_language
from retrieval.engine.text.spelling import folded
from retrieval.engine.text.statements import without_emphasis
from retrieval.engine.text.words import fold_accents
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
            return self._is_written(folded(without_emphasis(text)))
        terms = terms_of(text)
        lowered = {fold_accents(token.lower()) for token in _TOKEN.findall(text)}
        return all(group & (terms | lowered) for group in self.groups)

    def _is_written(self, spelt: str) -> bool:
        at = spelt.find(self.exact)
        while at >= 0:
            end = at + len(self.exact)
            if not _goes_on(spelt[at - 1 : at], self.exact[0]) and not _goes_on(
                spelt[end : end + 1], self.exact[-1]
            ):
                return True
            at = spelt.find(self.exact, at + 1)
        return False

    def place(self, text: str) -> int:
        """Where it begins in a text that holds it; 0 where that can't be said."""
        lowered = text.casefold()
        if self.exact:
            return max(0, lowered.find(self.exact.split()[0]))
        for token in _TOKEN.finditer(text):
            word = token.group()
            if self.groups[0] & (terms_of(word) | {fold_accents(word.lower())}):
                return token.start()
        return 0


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
    """What is to be held by a text; empty where nothing is left to look for (stop words alone)."""
    language = detect_language(words)
    pieces = [piece for word in words.split() if (piece := word.strip(_EDGE))]
    if match == "phrase":
        exact = folded(" ".join(words.split()).strip(_EDGE))
        groups = [group for piece in pieces for group in _groups(piece, language)]
        return (Mention(tuple(dict.fromkeys(groups)), exact),) if exact else ()
    mentions: dict[Mention, None] = {}
    for piece in pieces:
        groups = _groups(piece, language)
        plain = piece.isalpha() and len(words_of(piece, language)) == 1
        if plain and groups:
            mentions[Mention(tuple(groups))] = None
        elif not plain:
            mentions[Mention(tuple(groups), folded(piece))] = None
    return tuple(mentions)


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


def excerpt_around(text: str, mentions: Iterable[Mention]) -> tuple[int, int]:
    """The part of a passage where the first of them stands: whole words, EXCERPT_CHARS at most."""
    place = next((mention.place(text) for mention in mentions if mention.in_text(text)), 0)
    if len(text) <= EXCERPT_CHARS:
        return 0, len(text)
    start = max(0, min(place - EXCERPT_CHARS // 3, len(text) - EXCERPT_CHARS))
    end = start + EXCERPT_CHARS
    if start:
        blank = text.find(" ", start, place)
        start = blank + 1 if blank >= 0 else start
    blank = text.rfind(" ", place + 1, end) if end < len(text) else -1
    return start, blank if blank > start else end
