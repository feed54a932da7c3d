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

from retrieval.text.labelled_rows import CELL_END, HEAD_END, NAME_END, labelled_lines
from retrieval.text.language import HAN_CHARACTER
from retrieval.text.markdown import is_delimiter_row, is_row, list_sign, passage_blocks, row_cells, without_emphasis
from retrieval.text.sentences import split_sentences

_DIGIT = re.compile(r"\d")


class Statement(NamedTuple):
    """On one line and without markup. heading: that it stands under in this text; empty where there is none.
    cells: of a row whose columns have names, what stands in it without these; else empty. table: which of the text's
    tables it is a row of, from 1."""

    heading: str
    text: str
    cells: str = ""
    table: int = 0


class _Row(NamedTuple):
    text: str
    cells: str = ""


def headed_statements_of(text: str) -> list[Statement]:
    """Each statement of a Markdown or plain text, in order."""
    statements: list[Statement] = []
    heading = ""
    for number, block in enumerate(passage_blocks(text), start=1):
        lines = block.content.split("\n")
        if block.kind == "heading":
            heading = block.label
            continue
        if block.kind == "table":
            rows = _rows(lines, headed=block.headed)
        else:
            rows = _code(lines) if block.kind == "code" else _text(lines)
        plain = (_Row(_plain(row.text), _plain(row.cells)) for row in rows)
        statements.extend(
            Statement(heading, row.text, row.cells, number if row.cells else 0)
            for row in plain
            if any(map(str.isalnum, row.text))
        )
    return statements


def _code(lines: list[str]) -> Iterator[_Row]:
    """What a program prints is often a table that is drawn with `|`."""
    for drawn, group in groupby(lines, key=is_row):
        part = list(group)
        yield from _rows(part, headed=False) if drawn else map(_Row, _sentences(part))


def _rows(lines: list[str], *, headed: bool) -> Iterator[_Row]:
    """Rows with the header's names where the table has a header, else the cells alone."""
    header = row_cells(lines[0]) if headed else []
    for line in lines[2:] if headed else lines:
        cells = row_cells(line)
        if len(cells) == len(header):
            yield _named(header, cells)
        elif not is_delimiter_row(line):
            yield _Row(_signs(cells)[1].join(filter(None, cells)))


def _named(header: Sequence[str], cells: Sequence[str]) -> _Row:
    pairs = [(name, cell) for name, cell in zip(header, cells, strict=True) if cell]
    name_end, cell_end = _signs([*header, *cells])
    text = cell_end.join(f"{name}{name_end}{cell}" if name else cell for name, cell in pairs)
    return _Row(text, cell_end.join(cell for _, cell in pairs))


def _signs(words: Sequence[str]) -> tuple[str, str]:
    """What stands behind a column's name and between two cells, in the row's own script."""
    return ("：", "；") if any(map(HAN_CHARACTER.search, words)) else (": ", "; ")


def _text(lines: list[str]) -> Iterator[_Row]:
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
            table = as_table(part)
            yield from _rows(table, headed=is_delimiter_row(table[1]))
        elif not kind or at not in labelled:  # the names of the columns say nothing by themselves
            yield from map(_Row, _sentences(part))


def as_table(rows: Sequence[str]) -> list[str]:
    """Bare rows (`a | b`) as a Markdown table. Their first is its header where it has no figure, and all of a column
    below have one: a column's type tells names from values."""
    cells = [row.split(HEAD_END) for row in rows]
    columns = zip(*cells[1:], strict=True) if len({len(row) for row in cells}) == 1 else ()
    headed = not _DIGIT.search(rows[0]) and any(all(map(_DIGIT.search, column)) for column in columns)
    table = [f"| {row.strip()} |" for row in rows]
    return [table[0], "| --- " * len(cells[0]) + "|", *table[1:]] if headed else table


def _labelled(line: str) -> _Row:
    pieces = [piece.partition(NAME_END) for piece in line.strip().split(CELL_END)]
    name_end, cell_end = _signs([line])
    text = cell_end.join(f"{name}{name_end}{cell}" if end else name for name, end, cell in pieces)
    return _Row(text, cell_end.join(cell if end else name for name, end, cell in pieces))


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


def _plain(statement: str) -> str:
    return " ".join(without_emphasis(statement).split())
