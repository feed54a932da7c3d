"""What an extract may quote from a passage: sentences, list items, and table rows together with their header.

A heading says nothing by itself, and a row without its header says nothing either: headings are left out, and the row
`| Undergraduates | 12 |` under `| Borrower | Items |` becomes "Borrower: Undergraduates; Items: 12".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from retrieval.sentences import split_sentences

_HEADING = re.compile(r"#{1,6}\s")
_LIST_ITEM = re.compile(r"(?:[-*•+]|\d{1,3}[.)、])\s+")
_RULE = re.compile(r"\|?(?:\s*:?-{2,}:?\s*\|?)+\Z")
_EMPHASIS = re.compile(r"\*\*|__|`")


def statements_of(text: str) -> list[str]:
    """The statements of a Markdown or plain text, in order, each on one line and without markup."""
    return [statement for _, statement in headed_statements_of(text)]


def headed_statements_of(text: str) -> list[tuple[str, str]]:
    """Each statement behind the heading that it stands under in this text; an empty one where there is none."""
    found: list[tuple[str, str]] = []
    heading = ""
    for kind, lines in groupby(_lines(text), key=_kind):
        block = list(lines)
        if kind == "heading":
            heading = _plain(_HEADING.sub("", block[-1]))
        elif kind == "table":
            found.extend((heading, row) for row in _rows(block))
        elif kind == "text":
            found.extend((heading, sentence) for sentence in _sentences(block))
    plain = ((heading, _plain(statement)) for heading, statement in found)
    return [(heading, statement) for heading, statement in plain if any(map(str.isalnum, statement))]


def _lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines())


def _kind(line: str) -> str:
    if not line:
        return "gap"
    if _HEADING.match(line):
        return "heading"
    return "table" if line.startswith("|") else "text"


def _rows(lines: list[str]) -> Iterator[str]:
    """Rows with the header's names where the table has a header, else the cells alone."""
    has_header = len(lines) > 1 and bool(_RULE.match(lines[1]))
    header = _cells(lines[0]) if has_header else []
    for line in lines[2:] if has_header else lines:
        cells = _cells(line)
        if len(cells) == len(header):
            yield "; ".join(
                f"{name}: {cell}" if name else cell for name, cell in zip(header, cells, strict=True) if cell
            )
        elif not _RULE.match(line):
            yield "; ".join(cell for cell in cells if cell)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _sentences(lines: list[str]) -> Iterator[str]:
    """Sentences of a paragraph whose lines may be wrapped; each list item begins anew."""
    paragraph: list[str] = []
    for line in [*lines, ""]:
        item = _LIST_ITEM.match(line)
        if paragraph and (item or not line):
            yield from split_sentences(" ".join(paragraph))
            paragraph = []
        if line:
            paragraph.append(line[item.end() :] if item else line)


def _plain(statement: str) -> str:
    return " ".join(_EMPHASIS.sub("", statement).split())
