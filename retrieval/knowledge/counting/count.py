"""Counts over all documents of a scope, exact, with what each row rests on.

The database is read some documents at a time, by title, until all were looked at or the time is over; then the result
says how many were. Permission is the scope's: nothing outside its collections is read.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Q

from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from retrieval.engine.text.cell_values import compares
from retrieval.engine.text.mentions import MAX_MENTIONS, Mention, excerpt_around, mentions_of
from retrieval.engine.text.records import Record, column_key, records_of
from retrieval.engine.values import SearchScope
from retrieval.engine.values.counting import (
    MAX_COUNTED_ROWS,
    CountedRow,
    CountEvidence,
    CountFilter,
    CountResult,
    UnreadCell,
)
from retrieval.knowledge.chunk_store import stored_row
from retrieval.knowledge.counting.documents import (
    CountedDocument,
    documents_let_through,
    unreadable_documents,
)
from retrieval.knowledge.counting.passages import (
    Row,
    chunk_rows,
    documents_holding,
    first_chunks,
    holding_any,
    in_batches,
)

COUNT_S = 20.0
LOOKED_AT_CHUNKS = 20  # of a document, for the one that shows a word best
MAX_UNREAD_SHOWN = 5
MAX_LINES_SHOWN = 3  # of a form


@dataclass(slots=True)
class _Tally:
    """What was counted so far; rows up to `limit` are kept."""

    limit: int
    total: int = 0
    documents: int = 0
    rows: list[CountedRow] = field(default_factory=list)
    unread_cells: int = 0
    unread: list[UnreadCell] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= self.limit


def count(
    scope: SearchScope,
    counted: CountFilter,
    *,
    limit: int = MAX_COUNTED_ROWS,
    timeout_s: float = COUNT_S,
) -> CountResult:
    """limit: rows that are given back. timeout_s: of the whole count. For a thread: it reads for seconds. Raises
    InvalidInputError where there is nothing to look for."""
    mentions = _mentions(counted)
    if counted.unit == "row" and not (mentions or counted.columns):
        raise InvalidInputError(worded("Give words or a column: all rows are not counted."))
    ends = time.monotonic() + timeout_s
    documents = documents_let_through(scope, counted)
    tally = _Tally(limit)
    looked_at = 0
    if counted.unit == "document" and not mentions and not counted.columns:
        _take_all(documents, tally)
        looked_at = len(documents)
    else:
        take = _take_rows if counted.unit == "row" else _take_documents
        for batch in in_batches(documents):
            if time.monotonic() >= ends:
                break
            take(batch, counted, mentions, tally)
            looked_at += len(batch)
    unreadable = unreadable_documents(scope)
    return CountResult(
        unit=counted.unit,
        total=tally.total,
        documents=tally.documents,
        rows=tuple(tally.rows),
        looked_at=looked_at,
        to_look_at=len(documents),
        being_read=unreadable.being_read,
        failed=unreadable.failed,
        partly_read=unreadable.partly_read,
        unread_cells=tally.unread_cells,
        unread=tuple(tally.unread),
    )


def _column_mentions(counted: CountFilter) -> list[Mention]:
    """What a document that has these columns holds, of each the words of its name."""
    return [
        Mention(mention.groups)
        for rule in counted.columns
        for mention in mentions_of(rule.column, "phrase")
    ]


def _mentions(counted: CountFilter) -> tuple[Mention, ...]:
    mentions = mentions_of(counted.words, counted.match)
    if counted.words.strip() and not mentions:
        reason = worded("These words stand in every text; give others, or a phrase.")
        raise InvalidInputError(fields={"words": [reason]})
    if len(mentions) > MAX_MENTIONS:
        reason = worded("At most {most} words.", most=MAX_MENTIONS)
        raise InvalidInputError(fields={"words": [reason]})
    return mentions


# ------------------------------------------------------------------------------------------------ documents
def _take_all(documents: Sequence[CountedDocument], tally: _Tally) -> None:
    """What their metadata alone say; each with its beginning."""
    tally.total = len(documents)
    tally.documents = len(documents)
    shown = documents[: tally.limit]
    beginnings = first_chunks(shown)
    for document in shown:
        chunk = beginnings.get(document.id)
        evidence = (CountEvidence(chunk=chunk),) if chunk else ()
        tally.rows.append(
            CountedRow(document_id=str(document.id), title=document.title, evidence=evidence)
        )


def _take_documents(
    batch: Sequence[CountedDocument],
    counted: CountFilter,
    mentions: Sequence[Mention],
    tally: _Tally,
) -> None:
    """Those that hold each mention, and a row of which each rule is true."""
    named = documents_holding(batch, [*mentions, *_column_mentions(counted)])
    found = chunk_rows(named, holding_any(mentions), terms=True) if mentions else {}
    records = chunk_rows(named, Q()) if counted.columns else {}
    for document in named:
        evidence: list[CountEvidence] = []
        if mentions:
            rows = found.get(document.id, [])
            if not all(any(_holds(row, mention) for row in rows) for mention in mentions):
                continue
            if not tally.is_full:
                evidence += _evidence(rows, mentions)
        if counted.columns:
            fitting = _fitting(document, records.get(document.id, []), counted, (), tally)
            if not fitting:
                continue
            evidence += _evidence_of(fitting[0], counted)
        tally.total += 1
        tally.documents += 1
        if not tally.is_full:
            row = CountedRow(
                document_id=str(document.id), title=document.title, evidence=tuple(evidence)
            )
            tally.rows.append(row)


def _holds(row: Row, mention: Mention) -> bool:
    if row["terms"]:
        if not mention.in_terms(f" {row['terms']} "):
            return False
        if not mention.exact:
            return True
    return any(mention.in_text(row[place]) for place in ("text", "heading", "title"))


def _evidence(rows: Sequence[Row], mentions: Sequence[Mention]) -> list[CountEvidence]:
    """As few passages as show each mention: one that is in a title or heading alone is shown by the first that stands
    under it."""
    left = list(mentions)
    evidence = []
    for row in rows[:LOOKED_AT_CHUNKS]:
        shown = [mention for mention in left if mention.in_text(row["text"])]
        if shown:
            start, end = excerpt_around(row["text"], shown)
            evidence.append(CountEvidence(chunk=stored_row(row), start=start, end=end))
            left = [mention for mention in left if mention not in shown]
    for mention in left:
        row = next(row for row in rows if _holds(row, mention))
        if not any(one.chunk.chunk_id == str(row["chunk_id"]) for one in evidence):
            start, end = excerpt_around(row["text"], [])
            evidence.append(CountEvidence(chunk=stored_row(row), start=start, end=end))
    return evidence


# ------------------------------------------------------------------------------------------------ rows
def _take_rows(
    batch: Sequence[CountedDocument],
    counted: CountFilter,
    mentions: Sequence[Mention],
    tally: _Tally,
) -> None:
    named = documents_holding(batch, [*mentions, *_column_mentions(counted)])
    found = chunk_rows(named, Q())
    for document in named:
        fitting = _fitting(document, found.get(document.id, []), counted, mentions, tally)
        tally.total += len(fitting)
        tally.documents += bool(fitting)
        for record in fitting[: max(0, tally.limit - len(tally.rows))]:
            cells = tuple((cell.name, cell.value) for cell in record.cells)
            evidence = _evidence_of(record, counted)
            row = CountedRow(
                document_id=str(document.id),
                title=document.title,
                evidence=tuple(evidence),
                cells=cells,
            )
            tally.rows.append(row)


def _fitting(
    document: CountedDocument,
    rows: Sequence[Row],
    counted: CountFilter,
    mentions: Sequence[Mention],
    tally: _Tally,
) -> list[Record]:
    """The document's records of which each rule is true and that hold each mention."""
    keys = [column_key(rule.column) for rule in counted.columns]
    fitting = []
    for record in records_of(map(stored_row, rows)):
        if record.is_second and not keys:
            continue
        cells = [record.cell(key) for key in keys]
        if None in cells:
            continue
        outcomes = []
        for cell, rule in zip(cells, counted.columns, strict=True):
            assert cell is not None
            outcome = compares(cell.value, rule, language=document.language)
            outcomes.append(outcome)
        if "no" in outcomes:
            continue
        if not all(mention.in_text(record.text) for mention in mentions):  # the dearest look
            continue
        if "unread" in outcomes:
            at = outcomes.index("unread")
            cell = cells[at]
            assert cell is not None
            tally.unread_cells += 1
            if len(tally.unread) < MAX_UNREAD_SHOWN:
                unread = UnreadCell(
                    document_id=str(document.id),
                    title=document.title,
                    column=cell.name,
                    value=cell.value,
                )
                tally.unread.append(unread)
            continue
        fitting.append(record)
    return fitting


def _evidence_of(record: Record, counted: CountFilter) -> list[CountEvidence]:
    """The row; of a form the lines that were compared."""
    compared = [record.cell(column_key(rule.column)) for rule in counted.columns]
    cells = compared if compared and not record.is_row else record.cells
    lines = dict.fromkeys(cell.line for cell in cells if cell is not None)
    return [
        CountEvidence(chunk=line.chunk, start=line.start, end=line.end)
        for line in list(lines)[:MAX_LINES_SHOWN]
    ]
