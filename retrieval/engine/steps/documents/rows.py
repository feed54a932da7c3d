"""Rows of a list: the deadlines, amounts and contacts that a document holds, as it writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import CompressDetails
from retrieval.engine.providers.reply_form import limited
from retrieval.engine.steps.documents.compare import ListEntry, RowKind
from retrieval.engine.steps.documents.excerpts import Excerpt, label_of
from retrieval.engine.steps.documents.notes import PassageNumber
from retrieval.engine.steps.documents.parts import (
    Readings,
    parts_of,
    quoted_passages,
    read_parts,
)
from retrieval.engine.steps.step import step, try_call
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import note


class DocumentRow(BaseModel):
    """words: the date or time, the sum, or the name, address or number, copied exactly."""

    passage: PassageNumber
    kind: RowKind
    words: Annotated[str, limited(minLength=1, maxLength=120)]


class DocumentRows(BaseModel):
    """A table has many."""

    rows: Annotated[list[DocumentRow], limited(maxItems=24)]


class CheckedRows(BaseModel):
    """The numbers of the rows that are what their kind says."""

    right: list[int]


@step("compress")
async def find_rows(
    deps: Deps, excerpts: Sequence[Excerpt], question: str, *, room: int
) -> tuple[list[ListEntry], Readings[list[ListEntry]]]:
    """The rows in the documents' order, and what was read for them."""

    async def read(part: Sequence[Excerpt]) -> list[ListEntry]:
        passages = quoted_passages(part, range(1, len(part) + 1), deps.language)
        reply = await deps.complete(
            "document_rows",
            DocumentRows,
            passages=passages,
            question=one_line(question),
        )
        statements = [excerpt.statements for excerpt in part]
        rows = (_as_written(named, statements) for named in reply.rows)
        return [row for row in rows if row]

    readings = await read_parts(deps, parts_of(excerpts, room), read)
    rows = list(dict.fromkeys(row for _, some in readings.parts for row in some or ()))
    selection = await _checked(deps, rows, question) if rows else []
    dropped = len(rows) - len(selection)
    note(
        "rows_found",
        CompressDetails(rows=len(selection), rows_dropped=dropped, read=readings.read),
    )
    return selection, readings


def _as_written(named: DocumentRow, statements: Sequence[Sequence[Excerpt]]) -> ListEntry | None:
    """statements: of each passage. None: these words stand in none, or are no amount as they have no number."""
    label = label_of(named.words)
    if not label or (named.kind == "amount" and not any(map(str.isnumeric, named.words))):
        return None
    at = named.passage - 1
    for part in (*statements[at : at + 1], *statements):  # its own passage first
        for statement in part:
            if label in label_of(statement.text):
                return ListEntry(named.kind, one_line(named.words), statement)
    return None


async def _checked(deps: Deps, rows: Sequence[ListEntry], question: str) -> list[ListEntry]:
    """Those that the model, shown the list, says to be what their kind says; all of them where it can't be asked."""
    lines: list[str] = []
    for number, row in enumerate(rows, start=1):
        lines.append(f"{number}. {row.kind}: {row.words} — {one_line(row.statement.text)}")
    call = deps.complete(
        "document_check",
        CheckedRows,
        rows="\n".join(lines),
        question=one_line(question),
    )
    reply = await try_call(deps, call)
    if reply is None:
        return list(rows)
    return [row for number, row in enumerate(rows, start=1) if number in reply.right]
