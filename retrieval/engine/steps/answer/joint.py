"""The joint between the beginning of an answer and its continuation.

A model that is asked to go on often says the last words again, or repeats a word from its start that was cut in half.
The joint takes out what is there already, and puts the blank or the line's end that belongs between the two parts.
"""

from __future__ import annotations

import re

from retrieval.engine.text.markers import without_citations

OVERLAP_CHARS = 400  # of that end, which a model may say again
SURE_CHARS = 24  # of what it writes, before it is known that it says nothing again
LEAST_OVERLAP = 8  # characters that are no chance
EAST_ASIAN_FROM = "\u2e80"
_LAST_WORD = re.compile(r"[^\W\d_]{2,40}\Z")
_FIRST_WORD = re.compile(r"[^\W\d_]{2,60}")
_NEW_LINE = re.compile(r"(?:[-*+]|\d{1,3}[.)])[ \t]|#{1,6} |\|")


class OverlapStripper:
    """Takes pieces of the rest and gives back what belongs behind the beginning."""

    def __init__(self, begun: str) -> None:
        self._end = without_citations(begun)[-OVERLAP_CHARS:]
        self._gap = not begun or begun[-1].isspace()
        self._held = ""
        self.joined = False

    def feed(self, piece: str) -> str:
        if self.joined:
            return piece
        self._held += piece
        plain = self._held.strip()
        if len(plain) < SURE_CHARS or (plain in self._end and len(plain) < OVERLAP_CHARS):
            return ""
        return self.finish()

    def finish(self) -> str:
        """What was held back, joined."""
        if self.joined or not self._held.strip():
            return ""
        self.joined = True
        return joint(self._end, self._held, gap=self._gap)


def joint(end: str, rest: str, *, gap: bool) -> str:
    """`rest` without what `end` ends in already, and with the blank or line's end between them. gap: there is one."""
    bare = end.rstrip()
    text = rest.lstrip()
    lengths = range(min(len(bare), len(text)), LEAST_OVERLAP - 1, -1)
    if repetition := next((length for length in lengths if bare.endswith(text[:length])), 0):
        return text[repetition:].lstrip() if gap else text[repetition:]
    word = _LAST_WORD.search(bare) if bare == end else None
    first = _FIRST_WORD.match(text)
    if word and first and word[0][-1] < EAST_ASIAN_FROM and first[0].startswith(word[0]):
        return text[len(word[0]) :]  # the word that was cut in half, or said twice
    if gap:
        return text
    if _NEW_LINE.match(text):
        return "\n" + text
    if text != rest:
        return rest
    touching = bare[-1:] < EAST_ASIAN_FROM and text[:1] < EAST_ASIAN_FROM and text[:1].isalnum()
    return f" {text}" if bare and touching and bare[-1] not in "([{\"'-/" else text
