"""Counts over all documents of a scope, exact, with what each row rests on.

The database is read some documents at a time, by title, until all were looked at or the time is over; then the result
says how many were. Permission is the scope's: nothing outside its collections is read.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from django.db.models import Q

from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from retrieval.engine.text.mentions import (
    MAX_MENTIONS,
    Mention,
    excerpts_around,
    mentions_of,
    words_left_out,
)
from retrieval.engine.values import SearchScope
from retrieval.engine.values.counting import (
    MAX_COUNTED_ROWS,
    CountEvidence,
    CountFilter,
    CountResult,
)
from retrieval.knowledge.chunk_store import stored_row
from retrieval.knowledge.counting.documents import (
    CountedDocument,
    documents_unset,
    filtered_documents,
    surroundings,
)
from retrieval.knowledge.counting.known_values import check_values
from retrieval.knowledge.counting.passages import (
    Row,
    chunk_rows,
    documents_holding,
    first_chunks,
    holding_any,
    in_batches,
)
from retrieval.knowledge.counting.rows import evidence_of, matching_rows
from retrieval.knowledge.counting.tally import MAX_UNREAD_KEPT, Tally

COUNT_S = 20.0
LOOKED_AT_CHUNKS = 20  # of a document, for the one that shows a word best


def count(
    scope: SearchScope,
    counted: CountFilter,
    *,
    limit: int = MAX_COUNTED_ROWS,
    most_unread: int = MAX_UNREAD_KEPT,
    timeout_s: float = COUNT_S,
) -> CountResult:
    """limit: rows that are given back; most_unread: of those that could not be compared. timeout_s: of the whole count.
    For a thread: it reads for seconds. Raises InvalidInputError where there is nothing to look for, UnknownValueError
    where no document has what a filter names."""
    mentions = _mentions(counted)
    if counted.unit == "row" and not (mentions or counted.columns):
        raise InvalidInputError(worded("Give words or a column: all rows are not counted."))
    ends = time.monotonic() + timeout_s
    check_values(scope, counted.metadata)
    documents = filtered_documents(scope, counted)
    tally = Tally(limit, most_unread)
    looked_at = 0
    if counted.unit == "document" and not mentions and not counted.columns:
        _count_everything(documents, tally)
        looked_at = len(documents)
    else:
        take = _count_rows if counted.unit == "row" else _count_documents
        for batch in in_batches(documents):
            if time.monotonic() >= ends:
                break
            take(batch, counted, mentions, tally)
            looked_at += len(batch)
    around = surroundings(scope)
    return CountResult(
        unit=counted.unit,
        total=tally.total,
        documents=tally.documents,
        rows=tuple(tally.rows),
        looked_at=looked_at,
        to_look_at=len(documents),
        in_scope=around.ready,
        unset=documents_unset(scope, counted),
        being_read=around.being_read,
        failed=around.failed,
        partly_read=around.partly_read,
        unread_cells=tally.unread_cells,
        ambiguous_cells=tally.ambiguous_cells,
        unread=tuple(tally.unread),
        empty_cells=tally.empty_cells,
        other_units=tally.other_units,
        unknown_columns=tally.unknown_columns(counted) if documents else (),
        words_left_out=words_left_out(counted.words, counted.match),
        copies=tally.copies,
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
def _count_everything(documents: Sequence[CountedDocument], tally: Tally) -> None:
    """What their metadata alone say; each with its beginning."""
    tally.total = len(documents)
    for document in documents:
        tally.take_document(document)
    shown = documents[: tally.limit]
    beginnings = first_chunks(shown)
    for document in shown:
        chunk = beginnings.get(document.id)
        tally.take_row(document, [CountEvidence(chunk=chunk)] if chunk else [])


def _count_documents(
    batch: Sequence[CountedDocument],
    counted: CountFilter,
    mentions: Sequence[Mention],
    tally: Tally,
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
            fitting = matching_rows(document, records.get(document.id, []), counted, (), tally)
            if not fitting:
                continue
            evidence += evidence_of(fitting[0], counted, ())
        tally.total += 1
        tally.take_document(document)
        if not tally.is_full:
            tally.take_row(document, evidence)


def _holds(row: Row, mention: Mention) -> bool:
    if row["terms"]:
        if not mention.in_terms(f" {row['terms']} "):
            return False
        if not mention.exact:
            return True
    return any(mention.in_text(row[place]) for place in ("text", "heading", "title"))


def _evidence(rows: Sequence[Row], mentions: Sequence[Mention]) -> list[CountEvidence]:
    """As few passages as show each mention; of each the parts where they stand. One that is in a title or heading alone
    is shown by the first passage under it."""
    left = list(mentions)
    evidence = []
    for row in rows[:LOOKED_AT_CHUNKS]:
        shown = [mention for mention in left if mention.in_text(row["text"])]
        if shown:
            evidence += _parts(row, shown)
            left = [mention for mention in left if mention not in shown]
    for mention in left:
        row = next(row for row in rows if _holds(row, mention))
        if mention.in_text(row["text"]):
            evidence += _parts(row, [mention])
            continue
        start, end = excerpts_around(row["text"], [])[0]
        evidence.append(CountEvidence(chunk=stored_row(row), start=start, end=end, by_heading=True))
    return evidence


def _parts(row: Row, mentions: Sequence[Mention]) -> list[CountEvidence]:
    chunk = stored_row(row)
    return [
        CountEvidence(chunk=chunk, start=start, end=end)
        for start, end in excerpts_around(row["text"], mentions)
    ]


# ------------------------------------------------------------------------------------------------ rows
def _count_rows(
    batch: Sequence[CountedDocument],
    counted: CountFilter,
    mentions: Sequence[Mention],
    tally: Tally,
) -> None:
    named = documents_holding(batch, [*mentions, *_column_mentions(counted)])
    found = chunk_rows(named, Q())
    for document in named:
        fitting = matching_rows(document, found.get(document.id, []), counted, mentions, tally)
        if not fitting:
            continue
        tally.total += len(fitting)
        tally.take_document(document)
        for record in fitting[: max(0, tally.limit - len(tally.rows))]:
            cells = tuple((cell.name, cell.value) for cell in record.cells)
            tally.take_row(document, evidence_of(record, counted, mentions), cells)
