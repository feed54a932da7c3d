"""Plain text and comma-separated values."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from ragsite.core.text import clean_text, unix_lines
from ragsite.core.wording import worded
from retrieval.errors import DocumentUnreadableError
from retrieval.ingest.blocks import Block, ParsedDocument, first_title
from retrieval.ingest.encodings import declared_encoding, decode_text
from retrieval.ingest.headings import plain_blocks
from retrieval.text.statements import HEAD_END, MOST_COLUMNS, head_line, labelled_row

ROWS_PER_BLOCK = 20
MAX_FIELD_CHARS = 1_000_000
MAX_COLUMN_NAME_CHARS = 60
CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # of which text has next to none
SEEN_CHARS = 20_000
YEAR = re.compile("(?:19|20)[0-9]{2}")  # a number that names a column


def readable_text(data: bytes, *, markup: bool = False) -> str:
    """Decoded, with Unix line ends and without NUL. `markup`: it may declare its own encoding.

    Raises DocumentUnreadableError for what never was text.
    """
    text = decode_text(data, declared=declared_encoding(data) if markup else "")
    if len(CONTROL.findall(text[:SEEN_CHARS])) > max(2, len(text[:SEEN_CHARS]) // 200):
        raise DocumentUnreadableError(worded("This is not a text file: it holds binary data."))
    return clean_text(unix_lines(text)).replace("\f", "\n\n")


def parse_text(data: bytes) -> ParsedDocument:
    """Raises DocumentUnreadableError."""
    blocks = tuple(plain_blocks(readable_text(data)))
    return ParsedDocument(blocks=blocks, title=first_title(blocks))


def parse_csv(data: bytes) -> ParsedDocument:
    """Each row as `column: value; …`, so that a chunk can be understood without the header row."""
    text = readable_text(data)
    csv.field_size_limit(MAX_FIELD_CHARS)
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:8192], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text, newline=""), dialect)]
    except csv.Error as error:
        raise DocumentUnreadableError(worded("This CSV file is damaged: its rows cannot be told apart.")) from error
    return ParsedDocument(blocks=tuple(row_blocks([row for row in rows if any(row)])))


def row_blocks(rows: Sequence[Sequence[str]]) -> Iterator[Block]:
    """The first row is the header where it looks like one."""
    header = rows[0] if len(rows) > 1 and _is_header(rows[0]) else None
    return table_blocks(header, rows[1:] if header else rows)


def table_blocks(header: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> Iterator[Block]:
    """`ROWS_PER_BLOCK` lines to a block: the header, then each row as `column: value; …`; without one, its cells."""
    lines = [head_line(header)] if header else []
    columns = tuple(header or ()) if len(header or ()) <= MOST_COLUMNS else ()
    for row in rows:
        lines.append(labelled_row(header, row) if header else HEAD_END.join(filter(None, row)))
        if len(lines) == ROWS_PER_BLOCK:
            yield Block(text="\n".join(lines), kind="table", columns=columns)
            lines = []
    if lines:
        yield Block(text="\n".join(lines), kind="table", columns=columns)


def _is_header(row: Sequence[str]) -> bool:
    names = [cell for cell in row if cell]
    values = [cell for cell in names if cell.replace(".", "").replace("-", "").isdigit() and not YEAR.fullmatch(cell)]
    is_naming = not values and len(set(names)) == len(names) > 1
    return is_naming and max(map(len, names)) <= MAX_COLUMN_NAME_CHARS
