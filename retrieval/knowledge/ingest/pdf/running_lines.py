"""Headers and footers of a PDF, which repeat from page to page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from retrieval.knowledge.ingest.pdf.runs import TextLine

REPEATED_SHARE = (
    0.6  # a first or last line on this share of the pages is a running header or footer
)
MIN_PAGES_FOR_HEADERS = 4
MAX_RUNNING_CHARS = 150
_DIGITS = re.compile(r"[0-9]{1,18}")


def running_lines(pages: Sequence[Sequence[TextLine]]) -> set[tuple[int, TextLine]]:
    """Headers and footers that repeat from page to page, page numbers included: with their pages, from 1.

    A table's head that does so is none.
    """
    filled = [number for number, lines in enumerate(pages, 1) if lines]
    if len(filled) < MIN_PAGES_FOR_HEADERS:
        return set()
    ends = [
        (number, line)
        for number in filled
        for line in {pages[number - 1][0], pages[number - 1][-1]}
    ]
    return _running(ends, REPEATED_SHARE * len(filled))


def _running(ends: Sequence[tuple[int, TextLine]], least: float) -> set[tuple[int, TextLine]]:
    """First and last lines, with their pages, that are the same on so many pages but for numbers that count pages; the
    first one of those that are wholly the same is text of its page.

    A number that changes in another way is content, like that of a table's last row on each page.
    """
    groups: dict[str, list[tuple[int, TextLine]]] = {}
    for page, line in ends:
        if len(line.text) < MAX_RUNNING_CHARS:
            groups.setdefault(_DIGITS.sub("#", line.text), []).append((page, line))
    running: set[tuple[int, TextLine]] = set()
    for group in groups.values():
        if len(group) < least:
            continue
        numbers = [tuple(int(number) for number in _DIGITS.findall(line.text)) for _, line in group]
        is_same = [True] * len(group)
        for column in zip(*numbers, strict=True):
            told = Counter(column)
            counted = Counter(
                number - page for number, (page, _) in zip(column, group, strict=True)
            )
            value, times = told.most_common(1)[0]
            step, steps = counted.most_common(1)[0]
            for at, (number, (page, _)) in enumerate(zip(column, group, strict=True)):
                is_same[at] &= number == value if times >= steps else number - page == step
        if sum(is_same) >= least:
            repeated = [end for end, same in zip(group, is_same, strict=True) if same]
            has_words = any(map(str.isalpha, repeated[0][1].text))
            running.update(repeated[1:] if has_words and len(set(numbers)) == 1 else repeated)
    return running
