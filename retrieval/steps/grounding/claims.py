"""Claims: the sentences of an answer that state something, with their place in it and the passages that they cite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.text.markdown import leading_signs
from retrieval.text.refusal import reads_as_refusal
from retrieval.text.strips import Strip, split_strips

_LEADING_MARKERS = re.compile(r"(?:\s*\[\d{1,3}\])+[\s.,;:，。；]*")
_MARKER = re.compile(r"(?<!\s)\s*\[(\d{1,3})\]")
_EMPHASIS = re.compile(r"\*\*|__|[*`~|]")
_NUMBER_ALONE = re.compile(r"[€$£¥]? ?\d[\d,.:]* ?[%€\w]?[.。]?")
_WORD = re.compile(r"[^\W\d_]")
_STATES_NOTHING = (":", "：", "?", "？")


@dataclass(frozen=True, slots=True)
class Claim:
    """`answer[start:end]`, without list signs, with its markers. `text`: without markers and markup.

    `markers`: its own, or those at the end of its paragraph; empty where there are none.
    """

    text: str
    start: int
    end: int
    markers: tuple[int, ...]


def claims_of(answer: str) -> list[Claim]:
    """In order. Headings, code, questions, lines that introduce a list, and refusals state nothing.

    A number is an answer by itself, beside others it is a list's. A refusal with citations is none: they are set where
    a passage says so ("breakfast is not included [1]").
    """
    pieces = _pieces(answer)
    claims = []
    for piece, markers in zip(pieces, _markers(answer, pieces), strict=True):
        own = answer[piece.start : piece.end]
        text = plain(own)
        if piece.kind in ("heading", "code"):
            continue
        if len(_WORD.findall(text)) < 2 and not (len(pieces) == 1 and _NUMBER_ALONE.fullmatch(text)):
            continue
        if text.rstrip("*_ ").endswith(_STATES_NOTHING) or (reads_as_refusal(text) and not _MARKER.search(own)):
            continue
        claims.append(Claim(text, piece.start, piece.end, markers))
    return claims


def plain(text: str) -> str:
    """One line, without markers and emphasis; the cells of a table row side by side."""
    return " ".join(_EMPHASIS.sub(" ", _MARKER.sub("", text)).split())


def _pieces(answer: str) -> list[Strip]:
    """Sentences; markers after a full stop belong to the sentence before it."""
    pieces: list[Strip] = []
    for strip in split_strips(answer):
        start, end = strip.start, strip.end
        leading = _LEADING_MARKERS.match(answer[start:end])
        if leading and pieces and "\n" not in answer[pieces[-1].end : start]:
            pieces[-1] = replace(pieces[-1], end=start + len(leading.group().rstrip()))
            start += leading.end()
        start += leading_signs(answer[start:end])
        if answer[start:end].strip():
            pieces.append(Strip(start, end, strip.kind))
    return pieces


def _markers(answer: str, pieces: Sequence[Strip]) -> list[tuple[int, ...]]:
    """Of each piece: its own, else those of the next piece in its line."""
    markers: list[tuple[int, ...]] = []
    following: Strip | None = None
    for piece in reversed(pieces):
        own = _numbers(answer[piece.start : piece.end])
        if not own and following and "\n" not in answer[piece.end : following.start]:
            own = markers[-1]
        markers.append(own)
        following = piece
    return markers[::-1]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(number) for number in _MARKER.findall(text)))
