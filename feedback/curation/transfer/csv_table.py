"""CSV as people make it with spreadsheet programs: any encoding that the readers of documents know, with or without a
byte order mark, parted by commas, semicolons or tabs, with a line `sep=;` before the head."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ragsite.core.errors import InvalidInputError, TooLargeError
from ragsite.core.messages import worded
from ragsite.core.text import spreadsheet_cell, text_of_spreadsheet_cell
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.text import readable_text

MAX_BYTES = 10 * 1024 * 1024
MAX_ROWS = 10_000
MAX_COLUMNS = 100
SEPARATORS = (",", ";", "\t", "|")
ERROR_COLUMN = "error"  # of a file of rows that were not taken; read by nobody
BYTE_ORDER_MARK = "\ufeff"  # spreadsheets read a file without it in the computer's own encoding
_NAMED = re.compile(r'\A"?sep=(\\t|.)"?[ \t]*\n', re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvRow:
    """A row that is not empty. number: as a spreadsheet counts, the head is 1. cells: by column, as they were typed.
    surplus: it has more cells than the head."""

    number: int
    cells: dict[str, str]
    surplus: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvTable:
    """columns: those that are known, as the file has them; unread: the others."""

    columns: list[str]
    unread: list[str]
    lines: list[CsvRow]


def table_text(data: bytes) -> str:
    """Raises TooLargeError; InvalidInputError for what is no text, or text in an encoding that was guessed wrong."""
    if len(data) > MAX_BYTES:
        raise TooLargeError(
            worded("The file has more than {most} MiB; split it.", most=MAX_BYTES // 1024 // 1024)
        )
    try:
        text = readable_text(data)
    except DocumentUnreadableError as error:
        raise InvalidInputError(error.message) from error
    if "\ufffd" in text:
        raise InvalidInputError(
            worded("Some characters cannot be read. Save the file as “CSV UTF-8” and try again.")
        )
    return text


def table_read(text: str, known: Collection[str], required: Iterable[str]) -> CsvTable:
    """known: names of columns; required: those that the head must have. Raises InvalidInputError."""
    text, separator = _separator(text, known)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    lines: list[CsvRow] = []
    try:
        head = [cell.strip().lower() for cell in next(reader, [])]
        _check_head(head, known, required)
        for number, row in enumerate(reader, 2):
            if not any(map(str.strip, row)):
                continue
            if len(lines) == MAX_ROWS:
                raise InvalidInputError(
                    worded("The file has more than {most} rows; split it.", most=f"{MAX_ROWS:,}")
                )
            cells = {
                name: text_of_spreadsheet_cell(cell)
                for name, cell in zip(head, row, strict=False)
                if name in known
            }
            surplus = any(map(str.strip, row[len(head) :]))
            lines.append(CsvRow(number=number, cells=cells, surplus=surplus))
    except csv.Error as error:
        raise InvalidInputError(
            worded("This CSV file is damaged: its rows cannot be told apart.")
        ) from error
    if not lines:
        raise InvalidInputError(worded("The file has no rows below its head."))
    unread = [name for name in head if name and name not in known and name != ERROR_COLUMN]
    return CsvTable(columns=[name for name in head if name in known], unread=unread, lines=lines)


def _separator(text: str, known: Collection[str]) -> tuple[str, str]:
    """The text without a line that names the separator, and the separator: without such a line the one by which the
    head has the most names that are known."""
    named = _NAMED.match(text)
    if named is not None:
        return text[named.end() :], "\t" if named[1] == "\\t" else named[1]
    head = text.partition("\n")[0]

    def names(separator: str) -> int:
        cells = next(csv.reader([head], delimiter=separator), [])
        return sum(cell.strip().lower() in known for cell in cells)

    try:
        return text, max(SEPARATORS, key=names)
    except csv.Error:  # the reader of all of it says so
        return text, SEPARATORS[0]


def _check_head(head: Sequence[str], known: Collection[str], required: Iterable[str]) -> None:
    if len(head) > MAX_COLUMNS:
        raise InvalidInputError(worded("Use at most {most} columns.", most=MAX_COLUMNS))
    twice = [name for name in known if head.count(name) > 1]
    if twice:
        raise InvalidInputError(
            worded("The head has this column twice: {names}.", names=", ".join(twice))
        )
    missing = [name for name in required if name not in head]
    if missing:
        raise InvalidInputError(
            worded(
                "The first row names the columns, and these are missing: {names}.",
                names=", ".join(missing),
            )
        )


def table_write(rows: Iterable[Sequence[str]]) -> str:
    """A whole file."""
    return BYTE_ORDER_MARK + table_lines(rows)


def table_lines(rows: Iterable[Sequence[str]]) -> str:
    """No cell is a formula to a spreadsheet program."""
    file = io.StringIO()
    writer = csv.writer(file)
    for row in rows:
        writer.writerow([spreadsheet_cell(cell) for cell in row])
    return file.getvalue()
