"""Replays as JSON and for pages.

A replay searches as its asker may, a golden question's as the person who ordered it. Who looks at it may read less: of
documents that its reader may not open, only what the conversation showed already is given to the reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.urls import reverse

from chat import selectors
from chat.messages.data import localized_message, weak_sentences
from chat.messages.rendering import render_answer
from chat.models import Message, Replay, ReplayBatch
from chat.review.data import message_for_desk
from ragsite.core.localized import localized
from ragsite.core.wording import worded
from retrieval.selectors import as_uuid, visible_documents

QUESTION_CHARS = 300  # of it in lists
WITHHELD = worded("This answer rests on documents that you may not read, so its text is not shown.")
_LINKED = re.compile(r"/documents/([0-9a-f-]{36})/")  # as an answer names the nearest documents
Data = Mapping[str, Any]


def replay_row(replay: Replay) -> dict[str, Any]:
    """In a list."""
    return {
        "id": str(replay.pk),
        "url": reverse("review_replay", args=[replay.pk]),
        "batch_id": str(replay.batch_id) if replay.batch_id else None,
        "message_id": str(replay.message_id) if replay.message_id else None,
        "question": replay.question[:QUESTION_CHARS],
        "status": replay.status,
        "change": replay.change,
        "summary": replay.summary,
        "error": localized(replay.error, replay.wordings) if replay.error else None,
        "by": replay.made_by.get_username() if replay.made_by else None,
        "created_at": replay.created_at.isoformat(),
        "finished_at": replay.finished_at.isoformat() if replay.finished_at else None,
    }


def replay_data(replay: Replay, *, reader: User) -> dict[str, Any]:
    """With both answers in the active language, and their HTML. Renders Markdown: keep it off the event loop."""
    message = selectors.message_find(replay.message_id) if replay.message_id else None
    shown = _documents_of(message_for_desk(message)) if message else set()
    hidden = _hidden([data for data in (replay.original, replay.result) if data], shown, reader)
    return {
        **replay_row(replay),
        "question": replay.question,
        "original": original_data(replay, message, hidden),
        "replay": _shown(replay, replay.result, hidden) if replay.result else None,
        "differences": [row for row in replay.differences if not _tells(row, hidden)],
    }


def original_data(replay: Replay, message: Message | None, hidden: frozenset[str]) -> dict[str, Any] | None:
    """The stored answer as it is now, or a golden question's by the site's own settings."""
    if replay.message_id:
        return message_for_desk(message) if message else None
    return _shown(replay, replay.original, hidden) if replay.original else None


def _shown(replay: Replay, data: Data, hidden: frozenset[str]) -> dict[str, Any]:
    if hidden & _documents_of(data):
        return _withheld(data, hidden)
    markers = {source["marker"] for source in data["sources"]}
    html = render_answer(data["answer"], markers=markers, weak=weak_sentences(data["grounding"]))
    return localized_message({**data, "html": html}, replay.wordings)


# ------------------------------------------------------------------------------------------------ what a reader may see
def _documents_of(data: Data) -> set[str]:
    """Ids of the documents that an answer was given or names."""
    given = {str(source["document_id"]) for source in data["sources"] if source["document_id"]}
    return given | set(_LINKED.findall(data["answer"]))


def _hidden(answers: list[Data], shown: set[str], reader: User) -> frozenset[str]:
    """Those that neither the conversation has shown nor the reader may open."""
    named = {document for data in answers for document in _documents_of(data)} - shown
    ids = list(filter(None, map(as_uuid, named)))
    readable: set[UUID] = set(visible_documents(reader).filter(pk__in=ids).values_list("pk", flat=True))
    return frozenset(named - set(map(str, readable)))


def _withheld(data: Data, hidden: frozenset[str]) -> dict[str, Any]:
    """What an answer took and how it ended, without its words and what they rest on."""
    text = localized(WITHHELD)
    return {
        **data,
        "answer": text,
        "html": render_answer(text, markers=set(), weak=[]),
        "reason": "",
        "clarification": None,
        "grounding": [],
        "sources": [source for source in data["sources"] if str(source["document_id"]) not in hidden],
        "decision_path": [{**step, "summary": "", "detail": {}} for step in data["decision_path"]],
        "degraded": [{**entry, "reason": ""} for entry in data["degraded"]],
    }


def _tells(difference: Data, hidden: frozenset[str]) -> bool:
    """Whether a difference holds words of a withheld answer."""
    if not hidden:
        return False
    return difference["kind"] in ("answer", "step") or difference.get("document_id") in hidden


def batch_data(batch: ReplayBatch) -> dict[str, Any]:
    """Of one that `batch_list` has loaded."""
    counts: Any = batch
    return {
        "id": str(batch.pk),
        "url": reverse("review_replay_batch", args=[batch.pk]),
        "name": batch.name,
        "change": batch.change,
        "total": counts.total,
        "ended": counts.ended,
        "failed": counts.failed,
        "progress": round(counts.ended / counts.total, 4) if counts.total else 1.0,
        "by": batch.made_by.get_username() if batch.made_by else None,
        "created_at": batch.created_at.isoformat(),
    }
