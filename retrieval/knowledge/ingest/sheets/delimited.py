"""Comma-separated values and their kin: the character between the cells is found by trying, not by the file's name."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence

from ragsite.core.messages import worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import ParsedDocument, table_block
from retrieval.knowledge.ingest.tables import TableRow, tables_of
from retrieval.knowledge.ingest.text import readable_text

DELIMITERS = ("\t", ";", "|", ",")
NO_DELIMITER = "\x1f"  # stands in no text (`readable_text`)
MAX_FIELD_CHARS = 1_000_000
MAX_CELLS = 500_000
SAMPLE_ROWS = 200
SAMPLE_CHARS = 200_000
LEAST_SHARE = 0.6  # of the rows from the head on that have as many cells as it has
SPACED_SHARE = 0.8  # of a character's places: where blanks follow, it stands in sentences
LONG_CELL = 3.0  # words on the average: sentences
TOO_LARGE = worded("The file has more than {max_cells:,} cells; split it.", max_cells=MAX_CELLS)
_NAMED = re.compile(r'\A"?sep=(\\t|.)"?[ \t]*\r?\n', re.I)


def parse_csv(data: bytes) -> ParsedDocument:
    """Each row as `column: value; …`, so that a chunk can be understood without the header row.

    Raises DocumentUnreadableError.
    """
    text = readable_text(data)
    csv.field_size_limit(MAX_FIELD_CHARS)
    named = _NAMED.match(text)
    if named is not None:
        text = text[named.end() :]
        delimiter = "\t" if named[1] == "\\t" else named[1]
    else:
        delimiter = _delimiter(text)
    try:
        rows = _rows(text, delimiter)
    except csv.Error as error:
        raise DocumentUnreadableError(
            worded("This CSV file is damaged: its rows cannot be told apart.")
        ) from error
    width = max(map(len, rows), default=0)
    if width * len(rows) > MAX_CELLS:
        raise DocumentUnreadableError(
            worded("The file has more than {max_cells:,} cells; split it.", max_cells=MAX_CELLS)
        )
    grid = [
        TableRow((*row, *[""] * (width - len(row))), number) for number, row in enumerate(rows, 1)
    ]
    return ParsedDocument(blocks=tuple(map(table_block, tables_of(grid))))


def _rows(text: str, delimiter: str) -> list[list[str]]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=delimiter != "\t"
    )
    rows: list[list[str]] = []
    cells = 0
    for row in reader:
        cells += len(row) or 1
        if cells > MAX_CELLS:
            raise DocumentUnreadableError(TOO_LARGE)
        rows.append([" ".join(cell.split()) for cell in row])
    return rows


def _delimiter(text: str) -> str:
    """The one by which most rows have as many cells as their head; `NO_DELIMITER` for lines of text."""
    sample = text if len(text) <= SAMPLE_CHARS else text[:SAMPLE_CHARS].rpartition("\n")[0]
    best = NO_DELIMITER
    best_score = (0.0, 0)
    for delimiter in DELIMITERS:
        score = _score(sample, delimiter)
        if score > best_score:
            best = delimiter
            best_score = score
    return best


def _score(sample: str, delimiter: str) -> tuple[float, int]:
    """How well it parts the text: the share of rows with the usual number of cells, and this number; (0, 0): not."""
    reader = csv.reader(
        io.StringIO(sample, newline=""), delimiter=delimiter, skipinitialspace=delimiter != "\t"
    )
    try:
        rows = [
            row
            for _, row in zip(range(SAMPLE_ROWS), reader, strict=False)
            if any(map(str.strip, row))
        ]
    except csv.Error:
        return 0.0, 0
    counts = Counter(len(row) for row in rows if len(row) > 1)
    if not counts:
        return 0.0, 0
    usual = max(counts, key=lambda count: (counts[count], count))
    head = next(at for at, row in enumerate(rows) if len(row) == usual)
    body = rows[head:]
    share = sum(len(row) == usual for row in body) / len(body)
    if share < LEAST_SHARE or (delimiter != "\t" and _are_sentences(sample, delimiter, rows, head)):
        return 0.0, 0
    return share, usual


def _are_sentences(sample: str, delimiter: str, rows: Sequence[Sequence[str]], head: int) -> bool:
    """Whether blanks follow the character, as in a text, and what stands between is longer than names and figures, or
    does not begin with the first line."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    later = [cell for _, row in zip(range(SAMPLE_ROWS), reader, strict=False) for cell in row[1:]]
    spaced = sum(cell.startswith(" ") for cell in later)
    if spaced < SPACED_SHARE * len(later):
        return False
    cells = [cell for row in rows[head:] for cell in row if cell.strip()]
    words = sum(len(cell.split()) for cell in cells) / max(1, len(cells))
    return head > 0 or words > LONG_CELL
