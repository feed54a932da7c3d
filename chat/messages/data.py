"""A message as the contract shows it: the response of a question, an entry of the history, the end of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from chat.feedback import Rating
from chat.messages.ages import overdue_markers
from chat.messages.answer_serializers import AnswerSerializer
from chat.messages.found import found_lines
from chat.messages.offers import offers_below
from chat.messages.rendering import render_answer
from chat.messages.sources import source_data, source_row_data, source_spans
from chat.models import Message
from ragsite.core.api.rendering import rendered
from ragsite.core.localized import localized
from ragsite.core.messages import Wordings, worded, wordings_of
from ragsite.core.text import clean_json, clean_text
from retrieval.engine import values
from retrieval.engine.trace import StepRecord, Trace

SITE_TEXTS = ("reason", "decision_path", "degraded", "grounding", "error")
CUT = worded("This answer reached its length limit; it can be continued.")
STOPPED = worded("You stopped this answer; it can be continued.")
SITE_ENDED = worded("The site was restarted while it wrote this answer; it can be continued.")


def message_data(message: Message) -> dict[str, Any]:
    """Of a message that `chat.selectors` has loaded with its details. Renders Markdown: keep it off the event loop.

    The site's own sentences in it are in the active language.
    """
    data = message_record(message)
    if message.role == Message.Role.USER:
        return data
    return data | {"html": _html(message), "offers": offers_below(message)}


def message_record(message: Message) -> dict[str, Any]:
    """The same without `html` and `offers`, for files to keep: rendering an answer takes longer than everything else of
    it."""
    if message.role == Message.Role.USER:
        return rendered(AnswerSerializer, _shared_fields(message) | {"text": message.text})
    data = rendered(AnswerSerializer, _answer_record(message))
    return localized_message(data, message.wordings)


def localized_message(data: dict[str, Any], wordings: Wordings) -> dict[str, Any]:
    """An answer's `message_data` with the site's own sentences in the active language; what was answered stays."""
    shown = data | {name: localized(data[name], wordings) for name in SITE_TEXTS if data.get(name)}
    return shown | {"status_reason": localized(status_reason(shown)), "found": found_lines(shown)}


def status_reason(data: Mapping[str, Any]) -> str:
    """Why an answer is not complete; empty where it is, or is still being written. `data`: its `message_data`."""
    match data["status"]:
        case Message.Status.CUT:
            return CUT
        case Message.Status.STOPPED:
            return STOPPED
        case Message.Status.INTERRUPTED:
            # Its writer records why it broke off; where none did, the site itself ended.
            cause = next(
                (step["reason"] for step in data["degraded"] if step["step"] == "generate"), ""
            )
            if not cause:
                return SITE_ENDED
            return worded(
                "The connection to the model was lost ({reason}); the answer can be continued.",
                reason=cause,
            )
        case Message.Status.FAILED:
            return str((data.get("error") or {}).get("content", ""))
    return ""


def answer_status(answer: values.Answer) -> Literal["complete", "cut", "interrupted"]:
    """How the answer of a workflow ended."""
    return "complete" if not answer.partial else "cut" if answer.cut else "interrupted"


def _versions(message: Message) -> list[UUID]:
    return getattr(message, "version_ids", None) or [message.pk]


def _html(message: Message) -> str:
    markers = {source.marker for source in message.sources.all()}
    return render_answer(
        message.text, markers=markers, weak=weak_sentences(message.grounding or [])
    )


def _answer_record(message: Message) -> dict[str, Any]:
    ratings = {
        rating.source_id: rating_data(rating) for rating in getattr(message, "shown_ratings", ())
    }
    moved = {
        chunk: way
        for rating in getattr(message, "shown_ratings", ())
        for chunk, way in rating.moved.items()
    }
    sources = []
    for source in message.sources.all():
        own = {"rating": ratings.get(source.pk), "moved": moved.get(source.chunk_id)}
        sources.append(source_row_data(source) | own)
    return _answer_fields(message, sources, message.decision_steps.all()) | {
        "rating": ratings.get(None),
        "sent_request": getattr(message, "sent_state", None),
    }


def _shared_fields(message: Message) -> dict[str, Any]:
    """What a question and an answer have in common."""
    return {
        "session_id": message.session_id,
        "message_id": message.pk,
        "role": message.role,
        "status": message.status,
        "superseded": message.superseded,
        "versions": _versions(message),
        "created_at": message.created_at,
    }


def _answer_fields(
    message: Message, sources: Sequence[Mapping[str, Any]], steps: Iterable[Any]
) -> dict[str, Any]:
    """What `AnswerSerializer` takes, but for what only a reader of a conversation sees. steps: rows, or their
    fields."""
    return _shared_fields(message) | {
        "reply_to": message.reply_to_id,
        "decision": message.decision or None,
        "reason": message.reason,
        "workflow": message.workflow,
        "model": message.model,
        "answer": message.text,
        "grounding": message.grounding or [],
        "support": message.support or None,
        "curated": message.curated,
        "written_by": message.written_by,
        "clarification": message.clarification,
        "sources": sources,
        "overdue_sources": overdue_markers(sources),
        "decision_path": steps,
        "usage": message.usage,
        "degraded": message.degraded,
        "follow_ups": message.follow_ups,
        "error": message.error,
        "source_changed_at": message.source_changed_at,
        "being_read": message.being_read,
    }


def answer_columns(
    answer: values.Answer,
    *,
    steps: Sequence[StepRecord],
    usage: Mapping[str, Any],
    degraded: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """The columns of a Message that holds this answer."""
    shown = [(step.summary, step.detail) for step in steps]
    reason = answer.reason.text if answer.reason else ""
    return {
        "text": clean_text(answer.text),
        "decision": answer.decision,
        "reason": clean_text(reason)[:500],
        "model": answer.model[:200],
        "clarification": clean_json(answer.clarification.as_stored())
        if answer.clarification
        else None,
        "grounding": [clean_json(sentence.as_dict()) for sentence in answer.grounding] or None,
        "support": answer.support or "",
        "curated": answer.curated.as_dict() if answer.curated else None,
        "usage": clean_json(usage),
        "degraded": clean_json(degraded),
        "wordings": wordings_of(
            reason, shown, degraded, [sentence.reason for sentence in answer.grounding]
        ),
    }


def answer_as_stored(
    answer: values.Answer, trace: Trace, *, workflow: str, created_at: datetime
) -> tuple[dict[str, Any], Wordings]:
    """The same object for an answer that is stored nowhere: it has no session and no id. In English, with what its
    sentences were made of, to be shown by `localized_message`."""
    columns = answer_columns(
        answer, steps=trace.steps, usage=trace.usage().as_dict(), degraded=trace.degraded
    )
    message = Message(
        role=Message.Role.ASSISTANT,
        status=answer_status(answer),
        workflow=workflow,
        created_at=created_at,
        **columns,
    )
    sources = [
        source_data(source)
        | {"spans": source_spans(source, answer=message.text, grounding=message.grounding or [])}
        for source in answer.sources
    ]
    steps = [clean_json(step.as_dict()) for step in trace.steps]
    nowhere: dict[str, Any] = {"session_id": None, "message_id": None, "versions": []}
    data = rendered(AnswerSerializer, _answer_fields(message, sources, steps) | nowhere)
    return data, message.wordings


def weak_sentences(grounding: Sequence[Mapping[str, Any]]) -> list[str]:
    """Those that were checked and that their passages do not support."""
    return [checked["sentence"] for checked in grounding if checked["supported"] is False]


def rating_data(rating: Rating) -> dict[str, Any]:
    """The reader's own rating of an answer or of one source."""
    return {name: getattr(rating, name) for name in ("score", "thumb", "tags", "comment")}
