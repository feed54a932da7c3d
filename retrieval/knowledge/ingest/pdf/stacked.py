"""Letters of a PDF's page that stand below each other, as on the back of a book."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from retrieval.knowledge.ingest.pdf.runs import TextLine, joined
from retrieval.knowledge.ingest.pdf.text import PageText

STACKED = 0.4  # of a line's height, that the middles of letters below each other may lie apart
MAX_STEP = 1.8  # of a line's height, from a letter to the one below it
MIN_STACKED = 3  # letters


def stacked_letters(lines: list[TextLine], page: PageText) -> list[TextLine]:
    """With letters that stand below each other, alone on their lines, as one word from the top to the bottom."""
    result: list[TextLine] = []
    for is_letter, group in itertools.groupby(
        lines, key=lambda line: len(line.text) == 1 and line.text.isalpha()
    ):
        run: list[TextLine] = []
        for line in group:
            if run and not (is_letter and _is_below(run[-1], line, page)):
                result += _stacked(run, lines, page)
                run = []
            run.append(line)
        result += _stacked(run, lines, page)
    return result


def _is_below(upper: TextLine, lower: TextLine, page: PageText) -> bool:
    one = page.rect(upper.run.places[0])
    other = page.rect(lower.run.places[0])
    is_near = 0 < one.middle[1] - other.middle[1] <= MAX_STEP * one.height
    return is_near and abs(one.middle[0] - other.middle[0]) <= STACKED * one.height


def _stacked(run: Sequence[TextLine], lines: Sequence[TextLine], page: PageText) -> list[TextLine]:
    if len(run) < MIN_STACKED or run[0].turn:
        return list(run)
    beside = [
        line
        for line in lines
        if len(line.text) > 1 and run[-1].bottom < line.top and line.bottom < run[0].top
    ]
    if len(beside) >= len(run) / 2:  # a column of a table
        return list(run)
    word = page.line(joined([line.run for line in run]))
    return [replace(word, turn=90)]
