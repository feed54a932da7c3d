"""A replay as JSON and for its page.

It searches as its asker may. Who looks at it may read less: of documents that its reader may not open, only what the
conversation showed already is given to the reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from chat import selectors
from chat.messages.data import localized_message, weak_sentences
from chat.messages.rendering import render_answer
from chat.models import Replay
from chat.review.data import message_for_desk
from chat.review.replay.differences import answer_differences
from ragsite.core.localized import localized
from ragsite.core.wording import worded
from retrieval.selectors import as_uuid, visible_documents

WITHHELD = worded("This answer rests on documents that you may not read, so its text is not shown.")
_LINKED = re.compile(r"/documents/([0-9a-f-]{36})/")  # as an answer names the nearest documents
Data = Mapping[str, Any]


def replay_data(replay: Replay, *, reader: User) -> dict[str, Any]:
    """With both answers in the active language, and their HTML. Renders Markdown: keep it off the event loop."""
    message = selectors.message_find(replay.message_id)
    original = message_for_desk(message) if message else None
    hidden = _hidden(replay.result, _documents_of(original), reader) if replay.result and original else frozenset()
    replayed = _shown(replay, hidden) if replay.result else None
    return {
        "id": str(replay.pk),
        "message_id": str(replay.message_id),
        "question": replay.question,
        "status": replay.status,
        "change": replay.change,
        "error": localized(replay.error, replay.wordings) if replay.error else None,
        "by": replay.made_by.get_username() if replay.made_by else None,
        "created_at": replay.created_at.isoformat(),
        "finished_at": replay.finished_at.isoformat() if replay.finished_at else None,
        "original": original,
        "replay": replayed,
        "differences": answer_differences(original, replayed) if original and replayed and not hidden else [],
    }


def _shown(replay: Replay, hidden: frozenset[str]) -> dict[str, Any]:
    data: Data = replay.result
    if hidden:
        return _withheld(data, hidden)
    markers = {source["marker"] for source in data["sources"]}
    html = render_answer(data["answer"], markers=markers, weak=weak_sentences(data["grounding"]))
    return localized_message({**data, "html": html}, replay.wordings)


def _documents_of(data: Data) -> set[str]:
    """Ids of the documents that an answer was given or names."""
    given = {str(source["document_id"]) for source in data["sources"] if source["document_id"]}
    return given | set(_LINKED.findall(data["answer"]))


def _hidden(answer: Data, shown: set[str], reader: User) -> frozenset[str]:
    """Those that neither the conversation has shown nor the reader may open."""
    named = _documents_of(answer) - shown
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
