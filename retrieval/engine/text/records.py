"""The records of a document: rows of its tables, and forms, whose lines say `name: value`.

A document's chunks are read in their order, as the lines that they were cut from: a row's columns may be named some
chunks before it. Lines of a form that follow each other, fields without a value among them, are one record until a name
comes again. Nothing tells a table of two columns from a form in two columns, so it is read as both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from retrieval.engine.text.spelling import folded
from retrieval.engine.text.statements import (
    CELL_END,
    HEAD_END,
    NAME_END,
    cells_of,
    is_delimiter_row,
    is_row,
    leading_signs,
    row_cells,
    without_emphasis,
)
from retrieval.engine.values.chunks import StoredChunk

MAX_NAME_CHARS = 60  # what is longer before a colon is a sentence
MAX_FORM_LINES = 60
_COLONS = (NAME_END, "：")
_PAIR = 2


@dataclass(frozen=True, slots=True)
class RecordLine:
    """`chunk.text[start:end]`, and what continues it in the next chunks. more: these, as (chunk, start, end)."""

    text: str
    chunk: StoredChunk
    start: int
    end: int
    more: tuple[tuple[StoredChunk, int, int], ...] = ()

    @property
    def parts(self) -> tuple[tuple[StoredChunk, int, int], ...]:
        """All of it by chunk."""
        return ((self.chunk, self.start, self.end), *self.more)


@dataclass(frozen=True, slots=True)
class Cell:
    name: str
    value: str
    line: RecordLine


@dataclass(frozen=True, slots=True)
class Record:
    """cells: those that hold something, in their order. is_row: of a table, else of a form; there a column may have no
    name, which is empty. empty: keys of the columns
    that hold nothing here. is_second: another reading of rows that are records themselves."""

    cells: tuple[Cell, ...]
    is_row: bool
    empty: frozenset[str] = frozenset()
    is_second: bool = False

    def cells_of(self, key: str) -> list[Cell]:
        """Those whose column has this key (`column_key`): one, or several where a table names two columns alike."""
        return [cell for cell in self.cells if column_key(cell.name) == key]

    @property
    def text(self) -> str:
        """What it says itself: of a row its cells, whose columns' names each row has, and of a form its lines."""
        if self.is_row:
            return CELL_END.join(cell.value for cell in self.cells)
        return "\n".join(cell.line.text for cell in self.cells)


@lru_cache(maxsize=20_000)
def column_key(name: str) -> str:
    """By which two spellings of a column's name are one."""
    return folded(without_emphasis(name)).strip(" :*")


def lines_of(chunks: Iterable[StoredChunk]) -> list[RecordLine]:
    """chunks: of one document, in order. What a chunk repeats of the one before it is left out."""
    lines: list[RecordLine] = []
    before: StoredChunk | None = None
    for chunk in chunks:
        repeated = before.char_end - chunk.char_start if before else 0
        at = max(0, repeated)
        goes_on = before is not None and _is_cut(before, chunk)
        for number, text in enumerate(chunk.text[at:].split("\n")):
            line = RecordLine(text, chunk, at, at + len(text))
            if goes_on and not number and lines:
                last = lines[-1]
                gap = " " * max(0, -repeated)
                more = (*last.more, (chunk, at, at + len(text)))
                lines[-1] = replace(last, text=last.text + gap + text, more=more)
            else:
                lines.append(line)
            at += len(text) + 1
        before = chunk
    return lines


def _is_cut(before: StoredChunk, chunk: StoredChunk) -> bool:
    """Whether a row that is too long for a chunk goes on in the next one."""
    if not before.table_rows or not chunk.table_rows:
        return False
    return before.table_rows[1:] == (chunk.table_rows[0], chunk.table_rows[2])


def records_of(chunks: Iterable[StoredChunk]) -> list[Record]:
    """chunks: all of one document, in order."""
    return list(_RecordReader(lines_of(chunks)).records())


@dataclass(frozen=True, slots=True)
class _LineReading:
    """What a line is: the names of columns, a row with these names, or a pair of two texts. The others are empty."""

    head: tuple[str, ...] = ()
    row: tuple[tuple[str, str], ...] = ()
    pair: tuple[str, ...] = ()


class _RecordReader:
    """Reads the lines of a document in order."""

    def __init__(self, lines: Sequence[RecordLine]) -> None:
        self._lines = lines
        self._columns: tuple[str, ...] = ()  # of the table that was begun last
        self._is_over = False  # whether a blank line came after that table
        self._markdown: tuple[str, ...] = ()
        self._form: list[Cell] = []
        self._table: list[Cell] = []  # of two columns, as a form

    def records(self) -> Iterator[Record]:
        for at, line in enumerate(self._lines):
            text = line.text.strip()
            if not text:
                self._markdown = ()
                self._is_over = True
                continue
            if is_delimiter_row(text):
                continue
            following = self._lines[at + 1].text.strip() if at + 1 < len(self._lines) else ""
            reading = self._read(text, following)
            if reading.row and all(value == name for name, value in reading.row):
                continue  # the head, which a table repeats on each page
            yield from self._take_field(_field(reading.pair, line))
            yield from self._take_second(reading, line)
            yield from _row_records(reading.row, line)
        yield from self._take_field(None)
        yield from _second_reading(self._table)

    def _read(self, text: str, following: str) -> _LineReading:
        if is_row(text):
            return self._read_markdown(text, following)
        names = tuple(text.split(HEAD_END))
        if _is_head(names, following):
            self._columns = names
            self._is_over = False
            return _LineReading(head=names)
        if HEAD_END in text:
            return _LineReading(pair=names)
        if self._is_row(text):
            return _LineReading(row=_named_row(text, self._columns))
        if CELL_END in text:
            named = _named_cells(text)
            if named:
                return _LineReading(row=tuple(named))
        return _LineReading(pair=_form_line(text))

    def _is_row(self, text: str) -> bool:
        """Below a table, a line with one of its names alone is a field of a form."""
        if self._is_over and CELL_END not in text and len(self._columns) > 1:
            return False
        return any(_begins_with(text, name) or _goes_on_with(text, name) for name in self._columns)

    def _read_markdown(self, text: str, following: str) -> _LineReading:
        cells = tuple(map(without_emphasis, row_cells(text)))
        if is_delimiter_row(following):
            self._markdown = cells
            return _LineReading(head=cells)
        if self._markdown and len(cells) == len(self._markdown):
            return _LineReading(row=tuple(zip(self._markdown, cells, strict=True)))
        return _LineReading(pair=cells)

    def _take_field(self, field: Cell | None) -> Iterator[Record]:
        """The form that ends before this field, which begins or continues one. None: the line is no field."""
        if self._form and (field is None or _ends(self._form, field)):
            yield from _form(self._form)
            self._form = []
        if field:
            self._form.append(field)

    def _take_second(self, reading: _LineReading, line: RecordLine) -> Iterator[Record]:
        """Of a table of two columns, its rows as the fields of a form."""
        values = tuple(value for _, value in reading.row)
        begins = reading.head or (reading.row and not reading.row[0][0])
        field = _field(reading.head or values, line)
        if self._table and (reading.head or field is None or _ends(self._table, field)):
            yield from _second_reading(self._table)
            self._table = []
        if field and (begins or self._table):
            self._table.append(field)


def _row_records(row: Sequence[tuple[str, str]], line: RecordLine) -> Iterator[Record]:
    filled = tuple(Cell(name, value, line) for name, value in row if value)
    empty = frozenset(column_key(name) for name, value in row if name and not value)
    if any(cell.name for cell in filled):
        yield Record(filled, is_row=True, empty=empty)


def _form(fields: Sequence[Cell], *, is_second: bool = False) -> Iterator[Record]:
    filled = tuple(cell for cell in fields if cell.value)
    empty = frozenset(column_key(cell.name) for cell in fields if not cell.value)
    if filled:
        yield Record(filled, is_row=False, empty=empty, is_second=is_second)


def _second_reading(table: Sequence[Cell]) -> Iterator[Record]:
    if len(table) > 1:
        yield from _form(table, is_second=True)


def _field(pair: Sequence[str], line: RecordLine) -> Cell | None:
    """Of two texts that may be a name and its value, which may be empty: a field that nobody has filled in."""
    if len(pair) != _PAIR:
        return None
    name = without_emphasis(pair[0]).strip()
    value = pair[1].strip()
    is_name = 0 < len(name) <= MAX_NAME_CHARS and column_key(name)
    return Cell(name, value, line) if is_name else None


def _ends(form: Sequence[Cell], field: Cell) -> bool:
    key = column_key(field.name)
    return len(form) == MAX_FORM_LINES or any(column_key(cell.name) == key for cell in form)


def _is_head(names: Sequence[str], following: str) -> bool:
    """Whether the next line is a row of these columns. One name alone is a head where that row says something before
    it: of a column without a name."""
    if len(names) == 1:
        return _goes_on_with(following, names[0])
    return any(_begins_with(following, name) or _goes_on_with(following, name) for name in names)


def _begins_with(text: str, name: str) -> bool:
    return bool(name) and text.startswith(name + NAME_END)


def _goes_on_with(text: str, name: str) -> bool:
    """After something that has no name itself."""
    return bool(name) and f"{CELL_END}{name}{NAME_END}" in text and not _named_cells(text)


def _named_row(text: str, columns: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What stands before the first name is the cell of a column that has none."""
    if any(_begins_with(text, name) for name in columns):
        return tuple(zip(columns, cells_of(text, columns), strict=True))
    firsts = [text.find(f"{CELL_END}{name}{NAME_END}") for name in columns if name]
    first = min(at for at in firsts if at >= 0)
    values = cells_of(text[first + len(CELL_END) :], columns)
    return (("", text[:first]), *zip(columns, values, strict=True))


def _named_cells(text: str) -> list[tuple[str, str]]:
    """Of a row whose head stands elsewhere: each of its pieces has a name."""
    pairs = []
    for piece in text.split(CELL_END):
        name, colon, value = piece.partition(NAME_END)
        if not colon or not 0 < len(name) <= MAX_NAME_CHARS:
            return []
        pairs.append((name, value))
    return pairs


def _form_line(text: str) -> tuple[str, ...]:
    plain = without_emphasis(text[leading_signs(text) :])
    for colon in _COLONS:
        name, found, value = plain.partition(colon)
        if found and len(name.strip()) <= MAX_NAME_CHARS:
            return name.strip(), value.strip()
    bare = plain.rstrip()
    return (bare[:-1].strip(), "") if bare.endswith((":", "：")) else ()
