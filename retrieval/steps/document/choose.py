"""Which whole documents a question wants to be read: its words, the titles in scope, and what was asked back before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.ports import DocumentReader
from retrieval.steps.document.naming import (
    Meant,
    Missing,
    Resolved,
    Unclear,
    chosen_among,
    hints_of,
    points_at_one,
    resolve,
)
from retrieval.steps.document.task import Wanted, read_task
from retrieval.steps.step import Context
from retrieval.values import DocumentRef, Question, SearchFilters

MOST_TITLES = 2000  # that are looked through
MOST_POINTED_AT = 50  # documents among which "this document" is looked for


@dataclass(frozen=True, slots=True)
class Request:
    """A task on whole documents, and what came of looking for them. question: the words in which it was set; of a reply
    to what was asked back, those of the question before it."""

    question: str
    wanted: Wanted
    resolved: Meant | Unclear | Missing


async def whole_document_request(question: Question, context: Context) -> Request | None:
    """None: an ordinary question. The database is read only where the words alone ask for a whole document."""
    reader = context.tools.documents
    if reader is None or not question.scope.collections:
        return None
    wanted = await asyncio.to_thread(read_task, question.text)
    opened = question.open_clarification
    replied = wanted is None and opened is not None
    if replied and opened is not None:
        wanted = await asyncio.to_thread(read_task, opened.question)
    if wanted is None:
        return None
    asked = opened.question if replied and opened else question.text
    resolved = await _looked_up(wanted, question, reader, question.filters, replied=replied)
    if not isinstance(resolved, Meant | Unclear) and question.filters.preferred:
        resolved = await _looked_up(wanted, question, reader, _strict(question.filters), replied=replied)
    return None if resolved is None else Request(asked, wanted, resolved)


async def _looked_up(
    wanted: Wanted, question: Question, reader: DocumentReader, filters: SearchFilters, *, replied: bool
) -> Resolved:
    hints = await asyncio.to_thread(hints_of, wanted)
    limit = MOST_POINTED_AT if points_at_one(wanted) else MOST_TITLES
    documents = await reader.documents(question.scope, filters=filters, hints=hints, limit=limit)
    opened = question.open_clarification
    if not replied or opened is None:
        return await asyncio.to_thread(resolve, wanted, documents)
    chosen = chosen_among(question.text, opened.clarification.options, documents)
    return await asyncio.to_thread(_narrowed, wanted, chosen) if chosen else None


def _strict(filters: SearchFilters) -> SearchFilters:
    """Without those that may give way."""
    kept = {name: value for name, value in filters.as_dict().items() if name not in filters.preferred}
    return SearchFilters(**{**kept, "tags": tuple(kept.get("tags", ()))})


def _narrowed(wanted: Wanted, chosen: Sequence[DocumentRef]) -> Resolved:
    """What was offered is what is meant: of several documents of one name, the newest."""
    resolved = resolve(wanted, chosen)
    if wanted.task == "changes" or isinstance(resolved, Meant):
        return resolved
    return Meant((chosen[0],))
