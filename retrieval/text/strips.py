"""Strips: the parts of a passage that are kept or left out as a whole, each with its place in the passage's text.

A strip is a sentence, a list item, a table row, or a block of code. A heading and a table's head say nothing by
themselves: they are carried along with what stands under them.
Source: Yan et al., 2024, arXiv:2401.15884, §4.4 (decompose, filter, recompose).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrieval.text.markdown import Kind, MarkdownBlock, passage_blocks
from retrieval.text.sentences import sentence_spans

GAP, LINE_GAP = " … ", "\n…\n"
MAX_CARRIED = 8  # headings in a row; of more the first ones stand for themselves


@dataclass(frozen=True, slots=True)
class Strip:
    """`source[start:end]`, of a block of that kind. `carried`: places of the heading and the table head that it stands
    under."""

    start: int
    end: int
    kind: Kind
    carried: tuple[tuple[int, int], ...] = ()


def split_strips(text: str) -> list[Strip]:
    """In order; together with what they carry they hold all but white space."""
    strips: list[Strip] = []
    heading: tuple[tuple[int, int], ...] = ()
    waiting = False  # a heading that nothing stands under yet
    for block in passage_blocks(text):
        place = (block.start, block.end)
        if block.kind == "heading":
            if waiting and len(heading) == MAX_CARRIED:
                strips.append(Strip(*heading[0], block.kind))
                heading = heading[1:]
            heading = (*heading, place) if waiting else (place,)
            waiting = True
            continue
        waiting = False
        if block.kind == "table":
            strips.extend(_rows(text, block, heading))
        elif block.kind == "code":
            strips.append(Strip(*place, block.kind, heading))
        else:
            strips.extend(
                Strip(block.start + sentence.start, block.start + sentence.end, block.kind, heading)
                for sentence in sentence_spans(text[block.start : block.end])
            )
    if waiting:
        strips.extend(Strip(start, end, "heading") for start, end in heading)
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


def _rows(text: str, block: MarkdownBlock, heading: tuple[tuple[int, int], ...]) -> Iterator[Strip]:
    lines: list[tuple[int, int]] = []
    start = block.start
    for line in text[block.start : block.end].split("\n"):
        lines.append((start, start + len(line)))
        start += len(line) + 1
    carried = heading
    if block.headed and len(lines) > 2:
        carried = (*heading, (lines[0][0], lines[1][1]))
        lines = lines[2:]
    yield from (Strip(first, last, block.kind, carried) for first, last in lines)
