"""Paragraphs of a PDF, parted by the gaps between their lines and by their type."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from retrieval.knowledge.ingest.blocks import Block
from retrieval.knowledge.ingest.pdf.headings import (
    FULL_LINE_SHARE,
    SAME_SIZE,
    SENTENCE_END,
    level_by_number,
)
from retrieval.knowledge.ingest.pdf.runs import TextLine, TextRun, joined, space_between, width_of
from retrieval.knowledge.ingest.text import heading_level

SET_APART = 0.35  # of a line's height, above the usual gap: a new paragraph
_ENTRY = re.compile(r"(?:[•◦▪‣●○■□☐☑·*–—-]|\d{1,3}[.)]|\(?[a-z][.)])\s")  # of a list


def text_blocks(
    lines: Sequence[TextLine], page: int, gap: float, by_type: Mapping[TextLine, int], width: int
) -> Iterator[tuple[Block, TextRun]]:
    text: list[TextLine] = []
    for at, line in enumerate(lines):
        if text and is_apart(text[-1], line, gap):
            yield _paragraph(text, page, width)
            text = []
        level = by_type.get(line, 0) if by_type else heading_level(line.text)
        if not level and (not text or text[-1].text.endswith(SENTENCE_END)):
            level = level_by_number(lines, at, width)
        if not level:
            text.append(line)
            continue
        if text:
            yield _paragraph(text, page, width)
            text = []
        yield (
            Block(text=line.text, kind="heading", level=level, label=line.text, page=page),
            line.run,
        )
    if text:
        yield _paragraph(text, page, width)


def usual_gap(pages: Sequence[Sequence[TextLine]]) -> float:
    """Between two lines of a paragraph: few are nearer to each other; those of two columns lie beside each other."""
    pairs = itertools.chain.from_iterable(map(itertools.pairwise, pages))
    gaps = sorted(
        gap for first, second in pairs if (gap := first.bottom - second.top) > -first.height
    )
    return gaps[len(gaps) // 4] if gaps else 0.0


def is_apart(first: TextLine, second: TextLine, gap: float) -> bool:
    """In other type, or further from each other than lines of one paragraph."""
    smaller, larger = sorted((first.height, second.height))
    is_other = (
        smaller < larger * SAME_SIZE or first.is_bold != second.is_bold or first.turn != second.turn
    )
    return is_other or first.bottom - second.top > gap + SET_APART * first.height


def _paragraph(lines: Sequence[TextLine], page: int, width: int) -> tuple[Block, TextRun]:
    """Lines that the page's width broke are joined, so that no word is torn; short lines stay lines."""
    parts: list[TextRun | str] = [lines[0].run]
    for previous, line in itertools.pairwise(lines):
        is_whole = (
            previous.text.endswith(SENTENCE_END)
            or width_of(previous.text) < FULL_LINE_SHARE * width
            or _ENTRY.match(line.text)
        )
        parts += ["\n" if is_whole else space_between(previous.text, line.text), line.run]
    run = joined(parts)
    return Block(text=run.text, page=page), run
