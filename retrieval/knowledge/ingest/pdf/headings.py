"""Headings of a PDF: known by their type (larger than the running text, or a short bold line), or by how they read."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

from retrieval.knowledge.ingest.pdf.runs import TextLine, width_of

FULL_LINE_SHARE = 0.7  # a line this long, of the page's longest, goes on in the next one
SAME_SIZE = 0.93  # of a heading's height: what is less is a level of its own
SENTENCE_END = tuple("。！？；：.!?;:”」』）)")
LARGER = 1.12  # of the running text's height: a heading
MAX_HEADING_CHARS = 120
MAX_BOLD_CHARS = 60  # of a heading that is as large as the text: bold paragraphs have longer lines
MAX_HEADING_SHARE = (
    0.25  # of a file's characters; where more look like headings, type tells nothing
)
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+\S")
_NUMBERED_TITLE = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[^\W\d_a-z]")


def headings_by_type(pages: Sequence[Sequence[TextLine]]) -> dict[TextLine, int]:
    """Line → level 1–6; empty where the whole file is set alike, or type marks too much to mean headings.

    A numbered one has the level of its number ("2.1" is below "2"), whatever its size; the others follow their heights.
    """
    heights: Counter[float] = Counter()
    for line in itertools.chain.from_iterable(pages):
        heights[round(line.height, 1)] += len(line.text)
    body = max(heights, key=heights.__getitem__, default=0.0)
    lines = [
        line for line in itertools.chain.from_iterable(pages) if _is_set_as_heading(line, body)
    ]
    if not body or sum(len(line.text) for line in lines) > MAX_HEADING_SHARE * heights.total():
        return {}
    sizes: list[float] = []
    for size in sorted(
        {line.height for line in lines if not _NUMBERED.match(line.text)}, reverse=True
    ):
        if not sizes or size < sizes[-1] * SAME_SIZE:
            sizes.append(size)
    above = int(
        any(size > body * LARGER for size in sizes)
    )  # a title, whose sections begin one level below it
    return {line: _level(line, sizes, above) for line in lines}


def _is_set_as_heading(line: TextLine, body: float) -> bool:
    if (
        line.turn
        or len(line.text) > MAX_HEADING_CHARS
        or line.text.endswith(SENTENCE_END)
        or not any(map(str.isalpha, line.text))
    ):
        return False
    is_short = len(line.text) <= MAX_BOLD_CHARS or _NUMBERED.match(line.text) is not None
    return line.height > body * LARGER or (line.is_bold and is_short)


def _level(line: TextLine, sizes: Sequence[float], above: int) -> int:
    if match := _NUMBERED.match(line.text):
        return min(6, match[1].count(".") + 1 + above)
    return min(6, sum(line.height < size * SAME_SIZE for size in sizes) + 1)


def level_by_number(lines: Sequence[TextLine], at: int, width: int) -> int:
    """Of a short line with a number before its words ("3 Claims") where those beside it, as in a list, have none."""
    line = lines[at].text
    beside = [*lines[max(0, at - 1) : at], *lines[at + 1 : at + 2]]
    match = _NUMBERED_TITLE.match(line)
    if match is None or line.endswith(SENTENCE_END) or width_of(line) >= FULL_LINE_SHARE * width:
        return 0
    return (
        0
        if any(_NUMBERED.match(other.text) for other in beside)
        else min(6, match[1].count(".") + 2)
    )
