"""Replays as JSON and for pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse

from chat import selectors
from chat.messages.data import localized_message, weak_sentences
from chat.messages.rendering import render_answer
from chat.models import Replay, ReplayBatch
from chat.review.data import message_for_desk
from ragsite.core.localized import localized

QUESTION_CHARS = 300  # of it in lists


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


def replay_data(replay: Replay) -> dict[str, Any]:
    """With both answers in the active language, and their HTML. Renders Markdown: keep it off the event loop."""
    return {
        **replay_row(replay),
        "question": replay.question,
        "original": original_data(replay),
        "replay": _shown(replay, replay.result) if replay.result else None,
        "differences": replay.differences,
    }


def original_data(replay: Replay) -> dict[str, Any] | None:
    """The stored answer as it is now, or a golden question's by the site's own settings."""
    if replay.message_id:
        message = selectors.message_find(replay.message_id)
        return message_for_desk(message) if message else None
    return _shown(replay, replay.original) if replay.original else None


def _shown(replay: Replay, data: Mapping[str, Any]) -> dict[str, Any]:
    markers = {source["marker"] for source in data["sources"]}
    html = render_answer(data["answer"], markers=markers, weak=weak_sentences(data["grounding"]))
    return localized_message({**data, "html": html}, replay.wordings)


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
