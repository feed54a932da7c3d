"""What an answer states: its sentences, each with the passages that it cites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.engine.text.markers import CITATION, Brackets
from retrieval.engine.text.sentences import QUESTION_MARKS
from retrieval.engine.text.statements import (
    Statement,
    headed_statements_of,
    leading_signs,
)
from retrieval.engine.values import AnswerSource

_WORD = re.compile(r"[^\W_]")
_LEADING_MARKERS = re.compile(r"(?:\s*+\[\d{1,3}\](?![(\[]))++[\s.,;:，。；]*+")
_EMPHASIS = re.compile(r"\*\*|__|[*`~|]")
_STATES_NOTHING = (":", "：", *QUESTION_MARKS)


@dataclass(frozen=True, slots=True)
class Claim:
    """`answer[start:end]`, without list signs, with its markers. `text`: without markers and markup."""

    text: str
    start: int
    end: int
    markers: tuple[int, ...]


def brackets_of(sources: Sequence[AnswerSource]) -> Brackets:
    return Brackets.of([(source.marker, source.chunk.text) for source in sources])


def claims_of(answer: str, brackets: Brackets | None = None) -> list[Claim]:
    """In order. Headings, code, questions and lines that introduce a list state nothing.

    brackets: of the passages; without them each bracketed number is a citation.
    """
    citations = brackets.citations(answer) if brackets else list(CITATION.finditer(answer))
    claims = []
    for piece in _pieces(answer):
        cited = [match for match in citations if piece.start <= match.start() < piece.end]
        text = _cut_out(answer, piece.start, piece.end, cited)
        words = " ".join(_EMPHASIS.sub(" ", text).split())
        states = len(_WORD.findall(words)) > 1 and not words.rstrip("_ ").endswith(_STATES_NOTHING)
        if states and piece.kind != "code":
            markers = tuple(dict.fromkeys(int(match[1]) for match in cited))
            claims.append(Claim(words, piece.start, piece.end, markers))
    return claims


def _cut_out(answer: str, start: int, end: int, citations: Sequence[re.Match[str]]) -> str:
    """`answer[start:end]` without its citations and the blanks before them."""
    kept = ""
    for match in citations:
        kept = (kept + answer[start : match.start()]).rstrip(" \t")
        start = match.end()
    return kept + answer[start:end]


def _pieces(answer: str) -> list[Statement]:
    """Markers after a full stop belong to the sentence before it."""
    pieces: list[Statement] = []
    for piece in headed_statements_of(answer):
        start = piece.start
        leading = _LEADING_MARKERS.match(answer[start : piece.end])
        if leading and pieces and "\n" not in answer[pieces[-1].end : start]:
            pieces[-1] = pieces[-1]._replace(end=start + len(leading[0].rstrip()))
            start += leading.end()
        start += leading_signs(answer[start : piece.end])
        if answer[start : piece.end].strip():
            pieces.append(piece._replace(start=start))
    return pieces
