"""Where the words of a text stand on a page, line by line: of a PDF's characters, or as a scan was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from retrieval.ingest.blocks import Line

Box = tuple[int, int, int, int]  # left, top, right, bottom in steps of the page (`blocks.GRID`)
SAME_LINE = 0.5  # of a line's height: words whose middles are nearer stand on one line


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the document's text, or a part of one. begins: the part before it ends with white space."""

    start: int
    end: int
    box: Box
    begins: bool = True


def lines_of(words: Iterable[Word]) -> Iterator[Line]:
    """The words in their order, as lines of `PageLines`."""
    line: list[Word] = []
    box: Box = (0, 0, 0, 0)
    for word in words:
        if line and not on_one_line(box, word.box):
            yield _line(line, box)
            line = []
        box = around(box, word.box) if line else word.box
        line.append(word)
    if line:
        yield _line(line, box)


def around(one: Box, other: Box) -> Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def on_one_line(one: Box, other: Box) -> bool:
    """Side by side, the second one further on: columns and lines begin anew on the left."""
    apart = abs((one[1] + one[3]) - (other[1] + other[3])) / 2
    return apart < SAME_LINE * max(one[3] - one[1], other[3] - other[1], 1) and other[2] >= one[0]


def _line(words: list[Word], box: Box) -> Line:
    starts = [value for at, word in enumerate(words) if word.begins or not at for value in (word.start, word.box[0])]
    return [words[0].start, words[-1].end, *box, starts]
