"""What an extract may quote from a passage: sentences, list items, and table rows together with their header.

A heading says nothing by itself, and a row without its header says nothing either: headings are left out, and the row
`| Undergraduates | 12 |` under `| Borrower | Items |` becomes "Borrower: Undergraduates; Items: 12". Rows of
spreadsheets and CSV files are written like that already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from retrieval.text.labelled_rows import CELL_END, HEAD_END, NAME_END, labelled_lines, labelled_row
from retrieval.text.language import HAN_CHARACTER
from retrieval.text.markdown import is_delimiter_row, list_sign, passage_blocks, row_cells, without_emphasis
from retrieval.text.sentences import split_sentences

_DIGIT = re.compile(r"\d")


class Statement(NamedTuple):
    """On one line and without markup. heading: that it stands under in this text; empty where there is none."""

    heading: str
    text: str


def headed_statements_of(text: str) -> list[Statement]:
    """Each statement of a Markdown or plain text, in order."""
    statements: list[Statement] = []
    heading = ""
    for block in passage_blocks(text):
        lines = block.content.split("\n")
        if block.kind == "heading":
            heading = block.label
            continue
        if block.kind == "table":
            found = _rows(lines, headed=block.headed)
        else:
            found = _sentences(lines) if block.kind == "code" else _text(lines)
        plain = (" ".join(without_emphasis(statement).split()) for statement in found)
        statements.extend(Statement(heading, line) for line in plain if any(map(str.isalnum, line)))
    return statements


def _rows(lines: list[str], *, headed: bool) -> Iterator[str]:
    """Rows with the header's names where the table has a header, else the cells alone."""
    header = row_cells(lines[0]) if headed else []
    for line in lines[2:] if headed else lines:
        cells = row_cells(line)
        if len(cells) == len(header):
            yield _labelled(labelled_row(header, cells))
        elif not is_delimiter_row(line):
            yield _labelled(CELL_END.join(filter(None, cells)))


def _text(lines: list[str]) -> Iterator[str]:
    """Sentences, and in them the rows of files that are tables, a line each."""
    labelled = labelled_lines(lines)
    kinds = ["labelled" if at in labelled else "bare" if HEAD_END in line else "" for at, line in enumerate(lines)]
    at = 0
    for kind, group in groupby(kinds):
        part = lines[at : at + len(list(group))]
        at += len(part)
        if kind == "labelled":
            yield from map(_labelled, part)
        elif kind == "bare" and len(part) > 1:
            table = _as_table(part)
            yield from _rows(table, headed=is_delimiter_row(table[1]))
        elif not kind or at not in labelled:  # the names of the columns say nothing by themselves
            yield from _sentences(part)


def _as_table(rows: Sequence[str]) -> list[str]:
    """Bare rows (`a | b`) as a Markdown table. Their first is its header where it has no figure, and all of a column
    below have one: a column's type tells names from values."""
    cells = [row.split(HEAD_END) for row in rows]
    columns = zip(*cells[1:], strict=True) if len({len(row) for row in cells}) == 1 else ()
    headed = not _DIGIT.search(rows[0]) and any(all(map(_DIGIT.search, column)) for column in columns)
    table = [f"| {row.strip()} |" for row in rows]
    return [table[0], "| --- " * len(cells[0]) + "|", *table[1:]] if headed else table


def _labelled(line: str) -> str:
    """The row with the signs of its own script behind names and cells."""
    if not HAN_CHARACTER.search(line):
        return line.strip()
    return "；".join(piece.replace(NAME_END, "：", 1) for piece in line.strip().split(CELL_END))


def _sentences(lines: list[str]) -> Iterator[str]:
    """Sentences of a paragraph whose lines may be wrapped; each list item begins anew."""
    paragraph: list[str] = []
    for line in [*map(str.strip, lines), ""]:
        sign = list_sign(line)
        if paragraph and (sign or not line):
            yield from split_sentences(" ".join(paragraph))
            paragraph = []
        if line:
            paragraph.append(line[sign:])
