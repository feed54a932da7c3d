"""Tables of a passage, of Markdown or of rows `column: cell; …`, as an excerpt shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrieval.engine.text.statements import (
    CELL_END,
    HEAD_END,
    NAME_END,
    blocks_of,
    cells_of,
    is_delimiter_row,
    labelled_lines,
    row_cells,
)


@dataclass(frozen=True, slots=True)
class MarkdownTable:
    """head: as Markdown, a row and its delimiter. rows: start, end and cells of each in the passage's text."""

    columns: tuple[str, ...]
    delimiter: str
    rows: tuple[tuple[int, int, tuple[str, ...]], ...]
    caption: str = ""


def head_of(text: str) -> tuple[str, ...]:
    """The head of the table that a text ends with: its two lines; empty where it ends with no table, or with one whose
    head is further up."""
    blocks = blocks_of(text)
    if not blocks or blocks[-1].kind != "table":
        return ()
    lines = text[blocks[-1].start : blocks[-1].end].split("\n")
    return tuple(lines[:2]) if len(lines) > 1 and is_delimiter_row(lines[1]) else ()


def begins_inside_table(text: str) -> bool:
    """Whether a text begins with rows of a table of Markdown whose head it lacks."""
    blocks = blocks_of(text)
    if not blocks or blocks[0].kind != "table":
        return False
    lines = text[blocks[0].start : blocks[0].end].split("\n")
    return len(lines) < 2 or not is_delimiter_row(lines[1])


def is_inside_table(text: str) -> bool:
    """Whether a text is nothing but rows of a table whose head it lacks."""
    return begins_inside_table(text) and len(blocks_of(text)) == 1


def markdown_table(source: str, start: int, head: Sequence[str]) -> MarkdownTable:
    lines = list(lines_of(source, start))
    if len(lines) > 1 and is_delimiter_row(lines[1][2]):
        head = (lines[0][2], lines[1][2])
        lines = lines[2:]
    rows = [
        (begin, end, tuple(row_cells(line)))
        for begin, end, line in lines
        if not is_delimiter_row(line)
    ]
    columns = (
        tuple(row_cells(head[0]))
        if head
        else ("",) * max((len(cells) for _, _, cells in rows), default=1)
    )
    delimiter = head[1].strip() if head else _delimiter(columns)
    return MarkdownTable(
        columns,
        delimiter,
        tuple((begin, end, _fitted(cells, len(columns))) for begin, end, cells in rows),
    )


def labelled_table(source: str, start: int) -> MarkdownTable | None:
    """Of a run of lines with rows `column: cell; …`; None where it has none."""
    lines = list(lines_of(source, start))
    plain = [line for _, _, line in lines]
    labelled = labelled_lines(plain)
    if not labelled:
        return None
    before = plain[: min(labelled)]
    head = next((line for line in before if HEAD_END in line), "")
    rows = [lines[at] for at in sorted(labelled)]
    columns = tuple(head.split(HEAD_END)) if head else _columns([line for _, _, line in rows])
    if not columns:
        return None
    return MarkdownTable(
        columns,
        _delimiter(columns),
        tuple((begin, end, tuple(cells_of(line, columns))) for begin, end, line in rows),
        caption="\n".join(line for line in before if line != head),
    )


def _columns(rows: Sequence[str]) -> tuple[str, ...]:
    """The names that several rows have in front of a cell, in their order; all of a single row."""
    names = Counter(
        name
        for row in rows
        for piece in row.split(CELL_END)
        for name, end, _ in [piece.partition(NAME_END)]
        if end
    )
    least = min(2, len(rows))
    return tuple(name.strip() for name, count in names.items() if count >= least)


def _fitted(cells: Sequence[str], count: int) -> tuple[str, ...]:
    """As many cells as there are columns."""
    return tuple([*cells, *[""] * (count - len(cells))][:count])


def _delimiter(columns: Sequence[str]) -> str:
    return f"|{'---|' * len(columns)}"


def row_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def lines_of(source: str, start: int) -> Iterator[tuple[int, int, str]]:
    for line in source.split("\n"):
        yield start, start + len(line), line
        start += len(line) + 1
