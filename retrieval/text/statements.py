"""What an extract may quote from a passage: sentences, list items, and table rows together with their header.

A heading says nothing by itself, and a row without its header says nothing either: headings are left out, and the row
`| Undergraduates | 12 |` under `| Borrower | Items |` becomes "Borrower: Undergraduates; Items: 12".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from retrieval.text.markdown import is_delimiter_row, is_row, list_sign, passage_blocks, row_cells, without_emphasis
from retrieval.text.sentences import split_sentences


def headed_statements_of(text: str) -> list[tuple[str, str]]:
    """(heading, statement) for each statement of a Markdown or plain text, in order, on one line and without markup.

    The heading is the one that the statement stands under in this text; empty where there is none.
    """
    statements: list[tuple[str, str]] = []
    heading = ""
    for block in passage_blocks(text):
        lines = block.content.split("\n")
        if block.kind == "heading":
            heading = block.label
        elif block.kind == "table":
            statements.extend((heading, row) for row in _rows(lines, headed=block.headed))
        elif block.kind == "code":
            statements.extend((heading, statement) for statement in _code(lines))
        else:
            statements.extend((heading, sentence) for sentence in _sentences(lines))
    plain = ((heading, _plain(statement)) for heading, statement in statements)
    return [(heading, statement) for heading, statement in plain if any(map(str.isalnum, statement))]


def _code(lines: list[str]) -> Iterator[str]:
    """What a program prints is often a table that is drawn with `|`."""
    for drawn, group in groupby(lines, key=is_row):
        part = list(group)
        yield from _rows(part, headed=False) if drawn else _sentences(part)


def _rows(lines: list[str], *, headed: bool) -> Iterator[str]:
    """Rows with the header's names where the table has a header, else the cells alone."""
    header = row_cells(lines[0]) if headed else []
    for line in lines[2:] if headed else lines:
        cells = row_cells(line)
        if len(cells) == len(header):
            yield "; ".join(
                f"{name}: {cell}" if name else cell for name, cell in zip(header, cells, strict=True) if cell
            )
        elif not is_delimiter_row(line):
            yield "; ".join(cell for cell in cells if cell)


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
