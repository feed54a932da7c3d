"""Which rows of a document's tables and forms are counted, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.engine.text.cell_numbers import (
    Convention,
    conventions_of,
    conventions_of_workbook,
    conventions_shown,
)
from retrieval.engine.text.cell_values import CellComparison, compares
from retrieval.engine.text.mentions import EXCERPT_CHARS, Mention, excerpts_around
from retrieval.engine.text.records import Cell, Record, RecordLine, column_key, records_of
from retrieval.engine.values.counting import ColumnRule, CountEvidence, CountFilter
from retrieval.knowledge.chunk_store import stored_row
from retrieval.knowledge.counting.documents import CountedDocument
from retrieval.knowledge.counting.passages import Row
from retrieval.knowledge.counting.tally import Tally

MAX_LINES_SHOWN = 3  # of a form


def matching_rows(
    document: CountedDocument,
    rows: Sequence[Row],
    counted: CountFilter,
    mentions: Sequence[Mention],
    tally: Tally,
) -> list[Record]:
    """The document's records of which each rule is true and that hold each mention. The tally records what keeps
    others from being compared."""
    records = records_of(map(stored_row, rows))
    if not counted.columns:
        found = [record for record in records if not record.is_second]
        return [record for record in found if _holds_all(record, mentions)]
    comparing = _RowComparison(document, records, counted)
    fitting: list[Record] = []
    for record in records:
        lines = comparing.compared_lines(record)
        if record.is_second and any(lines == comparing.compared_lines(one) for one in fitting):
            continue  # the same cells, in the other reading
        if comparing.fits(record, mentions, tally):
            fitting.append(record)
    return fitting


def _holds_all(record: Record, mentions: Sequence[Mention]) -> bool:
    return all(mention.in_text(record.text) for mention in mentions)


class _RowComparison:
    """The rules of a count, and how numbers are written in one document."""

    def __init__(
        self, document: CountedDocument, records: Sequence[Record], counted: CountFilter
    ) -> None:
        self._document = document
        self._records = records
        self._rules = [(column_key(rule.column), rule) for rule in counted.columns]
        known = conventions_of_workbook if document.is_workbook else conventions_of
        self._known = known(document.language)
        self._shown: dict[str, frozenset[Convention]] = {}

    def compared_lines(self, record: Record) -> set[RecordLine]:
        return {cell.line for key, _rule in self._rules for cell in record.cells_of(key)}

    def fits(self, record: Record, mentions: Sequence[Mention], tally: Tally) -> bool:
        compared: list[tuple[Cell, CellComparison]] = []
        is_empty = False
        for key, rule in self._rules:
            cells = record.cells_of(key)
            if not cells and key not in record.empty:
                return False
            tally.columns_seen.add(key)
            if not cells:
                is_empty = True
                continue
            compared.append((cells[0], self._compare(key, cells, rule)))
        if any(one.outcome == "no" and one.unit is None for _cell, one in compared):
            return False
        units = [(cell, one.unit) for cell, one in compared if one.unit is not None]
        is_new = any(tally.is_new_unit(cell, unit) for cell, unit in units)
        fits = all(one.outcome != "no" for _cell, one in compared)
        if not (fits or is_new) or not _holds_all(record, mentions):  # the dearest look comes last
            return False
        for cell, unit in units:
            tally.take_unit(self._document, cell, unit)
        if not fits:
            return False
        for cell, outcome in compared:
            if outcome.outcome in ("unread", "ambiguous"):
                tally.leave_out(self._document, cell, outcome.outcome)
                return False
        tally.empty_cells += is_empty
        return not is_empty

    def _compare(self, key: str, cells: Sequence[Cell], rule: ColumnRule) -> CellComparison:
        """cells: one; several where a table has this column more than once, which then have to say the same."""
        found = [self._compare_cell(key, cell, rule) for cell in cells]
        if len({one.outcome for one in found}) > 1:
            return CellComparison("ambiguous")
        return found[0]

    def _compare_cell(self, key: str, cell: Cell, rule: ColumnRule) -> CellComparison:
        language = self._document.language
        found = compares(cell.value, rule, language=language, conventions=frozenset())
        if found.outcome != "ambiguous":  # its figures settle it
            return found
        return compares(cell.value, rule, language=language, conventions=self._conventions(key))

    def _conventions(self, key: str) -> frozenset[Convention]:
        """By the document's language, and by the other numbers of the column."""
        if key not in self._shown:
            values = [cell.value for record in self._records for cell in record.cells_of(key)]
            self._shown[key] = self._known | conventions_shown(values)
        return self._shown[key]


# ------------------------------------------------------------------------------------------------ where they stand
def evidence_of(
    record: Record, counted: CountFilter, mentions: Sequence[Mention]
) -> list[CountEvidence]:
    """The row; of a form the lines that were compared and those that hold the words, else its first ones."""
    if record.is_row:
        return [part for line in _lines(record.cells) for part in _around(line, mentions)]
    compared = [
        cell for rule in counted.columns for cell in record.cells_of(column_key(rule.column))
    ]
    lines = _lines(compared)
    for mention in mentions:
        if not any(mention.in_text(line.text) for line in lines):
            lines += [line for line in _lines(record.cells) if mention.in_text(line.text)][:1]
    lines = lines or _lines(record.cells)[:MAX_LINES_SHOWN]
    return [part for line in lines for part in _around(line, mentions)]


def _lines(cells: Sequence[Cell]) -> list[RecordLine]:
    return list(dict.fromkeys(cell.line for cell in cells))


def _around(line: RecordLine, mentions: Sequence[Mention]) -> list[CountEvidence]:
    """All of it; of a long one the parts where the words stand, of one that goes on in other chunks those parts alone
    that hold words."""
    evidence = []
    for chunk, first, last in line.parts:
        text = chunk.text[first:last]
        shown = [mention for mention in mentions if mention.in_text(text)]
        if chunk is not line.chunk and not shown:
            continue
        parts = [(0, len(text))]
        if mentions and len(text) > 2 * EXCERPT_CHARS:
            parts = excerpts_around(text, shown)
        evidence += [
            CountEvidence(chunk=chunk, start=first + start, end=first + end) for start, end in parts
        ]
    return evidence
