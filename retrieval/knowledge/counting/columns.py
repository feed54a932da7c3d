"""The columns that rows of a scope's documents have, for comparisons."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from cachetools import LRUCache
from django.db.models import Q

from retrieval.engine.text.cell_numbers import number_in
from retrieval.engine.text.cell_values import days_in
from retrieval.engine.text.records import Record, column_key, records_of
from retrieval.engine.values import SearchScope
from retrieval.engine.values.counting import Columns, CountFilter, TableColumn
from retrieval.knowledge.chunk_store import stored_row
from retrieval.knowledge.counting.documents import (
    CountedDocument,
    filtered_documents,
    surroundings,
)
from retrieval.knowledge.counting.passages import chunk_rows, in_batches

COLUMNS_S = 8.0
MAX_COLUMNS = 100  # that are offered
MAX_SAMPLES = 20  # cells of a column, by which its kind is said
SCOPES_KEPT = 32
Kind = Literal["number", "date", "text"]


@dataclass(slots=True)
class _Column:
    spellings: Counter[str] = field(default_factory=Counter)
    kinds: Counter[Kind] = field(default_factory=Counter)
    rows: int = 0
    documents: int = 0
    seen_in: object = None
    in_table: bool = False


_kept: LRUCache[tuple[tuple[str, int], ...], Columns] = LRUCache(SCOPES_KEPT)
_keeping = threading.Lock()


def columns_of(scope: SearchScope, *, timeout_s: float = COLUMNS_S) -> Columns:
    """Kept until a collection of the scope changes, unless the time was over. For a thread: the first time it reads for
    seconds."""
    key = tuple((ref.id, ref.version) for ref in scope.collections)
    with _keeping:
        found = _kept.get(key)
    found = found or _columns_of(scope, ends=time.monotonic() + timeout_s)
    if found.looked_at == found.documents:
        with _keeping:
            _kept[key] = found
    around = surroundings(scope)  # a document that fails changes nothing of what was read
    return replace(found, not_read=around.being_read + around.failed)


def _columns_of(scope: SearchScope, *, ends: float) -> Columns:
    documents = filtered_documents(scope, CountFilter())
    columns: dict[str, _Column] = {}
    looked_at = 0
    for batch in in_batches(documents):
        if time.monotonic() >= ends:
            break
        chunks = chunk_rows(batch, Q())
        for document in batch:
            records = records_of(map(stored_row, chunks.get(document.id, [])))
            _take(records, document, columns)
        looked_at += len(batch)
    offered = [column for column in columns.values() if column.in_table or column.rows > 1]
    offered.sort(key=lambda column: (-column.documents, -column.rows))
    return Columns(
        columns=tuple(map(_table_column, offered[:MAX_COLUMNS])),
        all=len(offered),
        looked_at=looked_at,
        documents=len(documents),
    )


def _take(
    records: Sequence[Record], document: CountedDocument, columns: dict[str, _Column]
) -> None:
    for record in records:
        for cell in record.cells:
            if not cell.name:
                continue
            column = columns.setdefault(column_key(cell.name), _Column())
            column.rows += 1
            column.documents += column.seen_in != document.id
            column.seen_in = document.id
            column.in_table = column.in_table or record.is_row
            column.spellings[cell.name] += 1
            if column.kinds.total() < MAX_SAMPLES:
                column.kinds[_kind_of(cell.value, document.language)] += 1


def _kind_of(value: str, language: str) -> Kind:
    if days_in(value, language):
        return "date"
    return "text" if number_in(value) is None else "number"


def _table_column(column: _Column) -> TableColumn:
    return TableColumn(
        name=column.spellings.most_common(1)[0][0],
        kind=column.kinds.most_common(1)[0][0],
        rows=column.rows,
        documents=column.documents,
    )
