"""Which whole documents a question wants to be read: its words, and the titles in scope."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from retrieval.ports import DocumentReader
from retrieval.steps.document.naming import (
    Meant,
    Resolved,
    hints_of,
    points_at_one,
    resolve,
)
from retrieval.steps.document.task import Wanted, read_task
from retrieval.steps.step import Context
from retrieval.values import Question, SearchFilters

MOST_TITLES = 2000  # that are looked through
MOST_POINTED_AT = 50  # documents among which "this document" is looked for


@dataclass(frozen=True, slots=True)
class Request:
    """A task on whole documents, in the words in which it was set, and the documents that are meant."""

    question: str
    wanted: Wanted
    resolved: Meant


async def whole_document_request(question: Question, context: Context) -> Request | None:
    """None: an ordinary question. The database is read only where the words alone ask for a whole document."""
    reader = context.tools.documents
    if reader is None or not question.scope.collections:
        return None
    wanted = await asyncio.to_thread(read_task, question.text)
    if wanted is None:
        return None
    resolved = await _looked_up(wanted, question, reader, question.filters)
    if resolved is None and question.filters.preferred:
        resolved = await _looked_up(wanted, question, reader, _strict(question.filters))
    return Request(question.text, wanted, resolved) if resolved else None


async def _looked_up(wanted: Wanted, question: Question, reader: DocumentReader, filters: SearchFilters) -> Resolved:
    hints = await asyncio.to_thread(hints_of, wanted)
    limit = MOST_POINTED_AT if points_at_one(wanted) else MOST_TITLES
    documents = await reader.documents(question.scope, filters=filters, hints=hints, limit=limit)
    return await asyncio.to_thread(resolve, wanted, documents)


def _strict(filters: SearchFilters) -> SearchFilters:
    """Without those that may give way."""
    kept = {name: value for name, value in filters.as_dict().items() if name not in filters.preferred}
    return SearchFilters(**{**kept, "tags": tuple(kept.get("tags", ()))})
