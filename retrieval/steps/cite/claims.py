"""Claims: the sentences of an answer that state something, with their place in it and the passages that they cite."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from retrieval.steps.cite.markers import MARKER, numbers_of, without_markers
from retrieval.text.markdown import leading_signs
from retrieval.text.strips import Strip, split_strips

_LEADING_MARKERS = re.compile(rf"(?:\s*+{MARKER})++[\s.,;:，。；]*+")
_MARKER = re.compile(MARKER)
_EMPHASIS = re.compile(r"\*\*|__|[*`~|]")
_WORD = re.compile(r"[^\W_]")
_STATES_NOTHING = (":", "：", "?", "？")


@dataclass(frozen=True, slots=True)
class Claim:
    """`answer[start:end]`, without list signs, with its markers. `text`: without markers and markup."""

    text: str
    start: int
    end: int
    markers: tuple[int, ...]


def claims_of(answer: str) -> list[Claim]:
    """In order. Headings, code, questions and lines that introduce a list state nothing."""
    claims = []
    for piece in _pieces(answer):
        text = answer[piece.start : piece.end]
        words = " ".join(_EMPHASIS.sub(" ", without_markers(text)).split())
        states = len(_WORD.findall(words)) > 1 and not words.rstrip("_ ").endswith(_STATES_NOTHING)
        if states and piece.kind not in ("heading", "code"):
            markers = tuple(dict.fromkeys(numbers_of("".join(_MARKER.findall(text)))))
            claims.append(Claim(words, piece.start, piece.end, markers))
    return claims


def _pieces(answer: str) -> list[Strip]:
    """Sentences; markers after a full stop belong to the sentence before it."""
    pieces: list[Strip] = []
    for strip in split_strips(answer):
        start = strip.start
        leading = _LEADING_MARKERS.match(answer[start : strip.end])
        if leading and pieces and "\n" not in answer[pieces[-1].end : start]:
            pieces[-1] = replace(pieces[-1], end=start + len(leading[0].rstrip()))
            start += leading.end()
        start += leading_signs(answer[start : strip.end])
        if answer[start : strip.end].strip():
            pieces.append(replace(strip, start=start))
    return pieces
