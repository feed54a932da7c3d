"""Strips: the parts of a passage that are kept or left out as a whole, each with its place in the passage's text.

A strip is a sentence, a list item, a table row, or a block of code. A heading and a table's head say nothing by
themselves: they are carried along with what stands under them.
Source: Yan et al., 2024, arXiv:2401.15884, §4.4 (decompose, filter, recompose).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrieval.sentences import sentence_spans

GAP, LINE_GAP = " … ", "\n…\n"
_HEADING = re.compile(r"\s*#{1,6}\s")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_RULE = re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|?)+\s*\Z")
_LINE = re.compile(r"[^\n]+")


@dataclass(frozen=True, slots=True)
class Strip:
    """`source[start:end]`. `carried`: places of the heading and the table head that it stands under."""

    start: int
    end: int
    carried: tuple[tuple[int, int], ...] = ()


def split_strips(text: str) -> list[Strip]:
    """In order; together with what they carry they hold all but white space."""
    strips: list[Strip] = []
    heading: tuple[tuple[int, int], ...] = ()
    waiting = False  # a heading that nothing stands under yet
    for kind, start, end in _blocks(text):
        if kind == "heading":
            if waiting:
                heading = (*heading, (start, end))
            else:
                heading = ((start, end),)
            waiting = True
            continue
        waiting = False
        if kind == "table":
            strips.extend(_rows(text, start, end, heading))
        elif kind == "code":
            strips.append(Strip(start, end, heading))
        else:
            strips.extend(
                Strip(start + sentence.start, start + sentence.end, heading)
                for sentence in sentence_spans(text[start:end])
            )
    if waiting:
        strips.extend(Strip(start, end) for start, end in heading)
    return strips


def recompose(text: str, strips: Sequence[Strip]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The kept strips, in their own order, with what they carry; "…" stands for what was left out between two.

    Also gives the places in `text` of the pieces, joined where nothing but white space lies between them.
    """
    places = sorted({place for strip in strips for place in (*strip.carried, (strip.start, strip.end))})
    runs: list[tuple[int, int]] = []
    for start, end in places:
        if runs and not text[runs[-1][1] : start].strip():
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    parts: list[str] = []
    for at, (start, end) in enumerate(runs):
        if at:
            parts.append(LINE_GAP if "\n" in text[runs[at - 1][1] : start] else GAP)
        parts.append(text[start:end])
    return "".join(parts), tuple(runs)


# ------------------------------------------------------------------------------------------------ blocks
def _blocks(text: str) -> Iterator[tuple[str, int, int]]:
    """(kind, start, end) of code, headings, tables and running text."""
    kind, first, last, fenced = "", 0, 0, False
    for match in _LINE.finditer(text):
        line = match.group()
        fence = bool(_FENCE.match(line))
        own = "code" if fenced or fence else _kind(line)
        blank_before = "\n\n" in text[last : match.start()]
        starts_code = fence and not fenced
        if kind and (own != kind or own == "heading" or starts_code or (blank_before and own != "code")):
            yield kind, first, last
            kind = ""
        if not kind:
            kind, first = own, match.start()
        last = match.end()
        fenced = fenced != fence
        if fence and not fenced:
            yield kind, first, last
            kind = ""
    if kind:
        yield kind, first, last


def _kind(line: str) -> str:
    if _HEADING.match(line):
        return "heading"
    return "table" if line.lstrip().startswith("|") else "text"


def _rows(text: str, start: int, end: int, heading: tuple[tuple[int, int], ...]) -> Iterator[Strip]:
    lines = [(start + match.start(), start + match.end()) for match in _LINE.finditer(text[start:end])]
    has_head = len(lines) > 2 and bool(_RULE.match(text[lines[1][0] : lines[1][1]]))
    carried = heading
    if has_head:
        carried = (*heading, (lines[0][0], lines[1][1]))
        lines = lines[2:]
    yield from (Strip(first, last, carried) for first, last in lines)
