"""Claims: the sentences of an answer that state something, with their place in it and the passages that they cite."""

from __future__ import annotations

import re
from dataclasses import dataclass

from retrieval.steps.no_answer import reads_as_refusal
from retrieval.steps.strips import split_strips

_LEADING_MARKERS = re.compile(r"(?:\s*\[\d{1,3}\])+[\s.,;:，。；]*")
_MARKER = re.compile(r"\s*\[(\d{1,3})\]")
_SYNTAX = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)]|>|#{1,6})\s+)+")
_HEADING = re.compile(r"[ \t]*#{1,6}\s")
_EMPHASIS = re.compile(r"\*\*|__|[*`~|]")
_WORD = re.compile(r"[^\W\d_]")
_STATES_NOTHING = re.compile(r"[:：?？]\s*[*_]*\s*\Z")


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
    """In order. Headings, code, questions, lines that introduce a list, and refusals state nothing."""
    pieces = _pieces(answer)
    claims = []
    for at, (start, end) in enumerate(pieces):
        text = plain(answer[start:end])
        if len(_WORD.findall(text)) < 2 or _STATES_NOTHING.search(text) or reads_as_refusal(text):
            continue
        if answer[start:end].startswith(("```", "~~~")) or _HEADING.match(answer, answer.rfind("\n", 0, start) + 1):
            continue
        claims.append(Claim(text, start, end, _markers(answer, pieces, at)))
    return claims


def plain(text: str) -> str:
    """One line, without markers and emphasis; the cells of a table row side by side."""
    return " ".join(_EMPHASIS.sub(" ", _MARKER.sub("", text)).split())


def _pieces(answer: str) -> list[tuple[int, int]]:
    """Sentences; markers after a full stop belong to the sentence before it."""
    pieces: list[tuple[int, int]] = []
    for strip in split_strips(answer):
        start, end = strip.start, strip.end
        leading = _LEADING_MARKERS.match(answer[start:end])
        if leading and pieces and "\n" not in answer[pieces[-1][1] : start]:
            pieces[-1] = (pieces[-1][0], start + len(leading.group().rstrip()))
            start += leading.end()
        syntax = _SYNTAX.match(answer[start:end])
        start += syntax.end() if syntax else 0
        if answer[start:end].strip():
            pieces.append((start, end))
    return pieces


def _markers(answer: str, pieces: list[tuple[int, int]], at: int) -> tuple[int, ...]:
    start, end = pieces[at]
    own = _numbers(answer[start:end])
    for (_, before), (first, last) in zip(pieces[at:], pieces[at + 1 :], strict=False):
        if own or "\n" in answer[before:first]:
            break
        own = _numbers(answer[first:last])
    return own


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(number) for number in _MARKER.findall(text)))
