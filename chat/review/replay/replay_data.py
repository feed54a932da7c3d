"""A replay as JSON and for its page.

It searches as its asker may. Its reader may have access to less: of documents that its reader may not open, only what
the conversation showed already is given to the reader, so an answer that rests on another one is withheld.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from chat import selectors
from chat.messages.data import localized_message, weak_sentences
from chat.messages.rendering import render_answer
from chat.models import Replay
from chat.review.data import message_for_desk
from chat.review.replay.differences import answer_differences
from ragsite.core.localized import localized
from ragsite.core.messages import worded
from retrieval.knowledge.selectors import as_uuid, visible_documents

WITHHELD = worded("This answer is based on documents that you may not read, so its text is hidden.")
_LINKED = re.compile(r"/documents/([0-9a-f-]{36})/")  # as an answer names the nearest documents
Data = Mapping[str, Any]


def replay_data(replay: Replay, *, reader: User) -> dict[str, Any]:
    """With both answers in the active language, and their HTML. Renders Markdown: keep it off the event loop."""
    message = selectors.message_find(replay.message_id)
    original = message_for_desk(message) if message else None
    error = replay.error
    replayed = _shown(replay) if replay.result else None
    if replayed and original and _hides(replayed, _documents_of(original), reader):
        replayed = None
        error = {"code": "withheld", "content": WITHHELD}
    return {
        "id": str(replay.pk),
        "message_id": str(replay.message_id),
        "question": replay.question,
        "status": replay.status,
        "change": replay.change,
        "error": localized(error, replay.wordings) if error else None,
        "by": replay.made_by.get_username() if replay.made_by else None,
        "created_at": replay.created_at.isoformat(),
        "finished_at": replay.finished_at.isoformat() if replay.finished_at else None,
        "original": original,
        "replay": replayed,
        "differences": answer_differences(original, replayed) if original and replayed else [],
    }


def _shown(replay: Replay) -> dict[str, Any]:
    data: Data = replay.result
    markers = {source["marker"] for source in data["sources"]}
    html = render_answer(data["answer"], markers=markers, weak=weak_sentences(data["grounding"]))
    return localized_message({**data, "html": html}, replay.wordings)


def _documents_of(data: Data) -> set[str]:
    """Ids of the documents that an answer was given or names."""
    sources = {str(source["document_id"]) for source in data["sources"] if source["document_id"]}
    return sources | set(_LINKED.findall(data["answer"]))


def _hides(answer: Data, shown: set[str], reader: User) -> bool:
    """Whether it rests on a document that neither the conversation has shown nor the reader may open."""
    named = _documents_of(answer) - shown
    ids = list(filter(None, map(as_uuid, named)))
    return visible_documents(reader).filter(pk__in=ids).count() < len(named)
