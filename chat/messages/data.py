"""A message as the contract shows it: the response of a question, an entry of the history, the end of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from chat.messages.rendering import render_answer
from chat.messages.spans import source_spans, spans_without_boxes
from chat.models import DecisionStep, Message, Session, Source
from chat.ratings import Rating
from ragsite.core.localized import localized
from ragsite.core.text import clean_json, clean_text
from ragsite.core.wording import Wordings, worded, wordings_of
from retrieval import values
from retrieval.trace import Trace

SOURCE_FIELDS = (
    "marker", "kind", "document_id", "chunk_id", "title", "page", "heading", "file_name", "url", "published", "text",
    "scores", "cited",
)  # fmt: skip
SITE_TEXTS = ("reason", "decision_path", "degraded", "grounding", "error")
CUT = worded("This answer reached its length limit; it can be continued.")
STOPPED = worded("You stopped this answer; it can be continued.")
SITE_ENDED = worded("The site was restarted while it wrote this answer; it can be continued.")
STEP_FIELDS = ("seq", "name", "status", "summary", "started_ms", "duration_ms", "detail")


def message_data(message: Message) -> dict[str, Any]:
    """Of a message that `chat.selectors` has loaded with its details. Renders Markdown: keep it off the event loop.

    The site's own sentences in it are in the active language.
    """
    data = message_record(message)
    return data if message.role == Message.Role.USER else data | {"html": _html(message)}


def message_record(message: Message) -> dict[str, Any]:
    """The same without `html`, for files to keep: rendering an answer takes longer than everything else of it."""
    if message.role == Message.Role.USER:
        return {
            "session_id": str(message.session_id),
            "message_id": str(message.pk),
            "role": message.role,
            "text": message.text,
            "status": message.status,
            "superseded": message.superseded,
            "versions": _versions(message),
            "created_at": message.created_at.isoformat(),
        }
    return localized_message(_answer_record(message), message.wordings)


def localized_message(data: dict[str, Any], wordings: Wordings) -> dict[str, Any]:
    """An answer's `message_data` with the site's own sentences in the active language; what was answered stays."""
    shown = data | {name: localized(data[name], wordings) for name in SITE_TEXTS if data.get(name)}
    return shown | {"status_reason": localized(status_reason(shown))}


def status_reason(data: Mapping[str, Any]) -> str:
    """Why an answer is not complete; empty where it is, or is still being written. `data`: its `message_data`."""
    match data["status"]:
        case Message.Status.CUT:
            return CUT
        case Message.Status.STOPPED:
            return STOPPED
        case Message.Status.INTERRUPTED:
            # Whoever wrote it says why it broke off; where nobody did, the site itself ended.
            told = next((fell["reason"] for fell in data["degraded"] if fell["step"] == "generate"), "")
            if not told:
                return SITE_ENDED
            return worded("The connection to the model was lost ({reason}); the answer can be continued.", reason=told)
        case Message.Status.FAILED:
            return str((data.get("error") or {}).get("content", ""))
    return ""


def answer_status(answer: values.Answer) -> Literal["complete", "cut", "interrupted"]:
    """How the answer of a workflow ended."""
    return "complete" if not answer.partial else "cut" if answer.cut else "interrupted"


def _versions(message: Message) -> list[str]:
    return [str(pk) for pk in getattr(message, "version_ids", None) or [message.pk]]


def answer_data_in_english(message: Message) -> dict[str, Any]:
    return _answer_record(message) | {"html": _html(message)}


def keep_details(message: Message, *, sources: Sequence[Source], steps: Sequence[DecisionStep] | None) -> None:
    """Of a message that was just written: its rows in their order, so that they need not be read. None: read them."""
    message.kept_sources, message.kept_steps = sources, steps  # type: ignore[attr-defined]


def sources_of(message: Message) -> list[Source]:
    kept: Sequence[Source] | None = getattr(message, "kept_sources", None)
    return list(message.sources.all() if kept is None else kept)


def steps_of(message: Message) -> list[DecisionStep]:
    kept: Sequence[DecisionStep] | None = getattr(message, "kept_steps", None)
    return list(message.decision_steps.all() if kept is None else kept)


def _html(message: Message) -> str:
    markers = {source.marker for source in sources_of(message)}
    return render_answer(message.text, markers=markers, weak=weak_sentences(message.grounding or []))


def _answer_record(message: Message) -> dict[str, Any]:
    sources = sources_of(message)
    ratings = {rating.source_id: rating_data(rating) for rating in getattr(message, "shown_ratings", ())}
    return {
        "session_id": str(message.session_id),
        "message_id": str(message.pk),
        "role": message.role,
        "reply_to": str(message.reply_to_id) if message.reply_to_id else None,
        "status": message.status,
        "decision": message.decision or None,
        "reason": message.reason,
        "workflow": message.workflow,
        "model": message.model,
        "answer": message.text,
        "grounding": message.grounding or [],
        "curated": message.curated,
        "clarification": _clarification(message),
        "sources": [
            {**_columns(source, SOURCE_FIELDS), "spans": _spans(source, message), "rating": ratings.get(source.pk)}
            for source in sources
        ],
        "decision_path": [_columns(step, STEP_FIELDS) for step in steps_of(message)],
        "usage": message.usage,
        "degraded": message.degraded,
        "error": message.error,
        "rating": ratings.get(None),
        "superseded": message.superseded,
        "versions": _versions(message),
        "created_at": message.created_at.isoformat(),
    }


def _clarification(message: Message) -> dict[str, Any] | None:
    """Without the documents that the options stand for."""
    asked = message.clarification
    return {"question": asked["question"], "options": asked["options"]} if asked else None


def answer_data(answer: values.Answer, trace: Trace, *, workflow: str, created_at: datetime) -> dict[str, Any]:
    """The same object for an answer that is stored nowhere: it has no session and no id."""
    data, wordings = answer_as_stored(answer, trace, workflow=workflow, created_at=created_at)
    return localized_message(data, wordings)


def answer_as_stored(
    answer: values.Answer, trace: Trace, *, workflow: str, created_at: datetime
) -> tuple[dict[str, Any], Wordings]:
    """The same in English, with what its sentences were made of: to be shown later by `localized_message`."""
    said = [(step.summary, step.detail) for step in trace.steps]
    wordings = wordings_of(answer.reason, said, trace.degraded, [sentence.reason for sentence in answer.grounding])
    grounding = [clean_json(sentence.as_dict()) for sentence in answer.grounding]
    data = {
        "session_id": None,
        "message_id": None,
        "role": Message.Role.ASSISTANT,
        "status": answer_status(answer),
        "decision": answer.decision,
        "reason": answer.reason,
        "workflow": workflow,
        "model": answer.model,
        "answer": answer.text,
        "grounding": grounding,
        "curated": answer.curated.as_dict() if answer.curated else None,
        "clarification": answer.clarification.as_dict() if answer.clarification else None,
        "sources": [
            source_data(source) | {"spans": source_spans(source, answer=answer.text, grounding=grounding)}
            for source in answer.sources
        ],
        "decision_path": [clean_json(step.as_dict()) for step in trace.steps],
        "usage": trace.usage().as_dict(),
        "degraded": trace.degraded,
        "created_at": created_at.isoformat(),
    }
    return data, wordings


def weak_sentences(grounding: Sequence[Mapping[str, Any]]) -> list[str]:
    """Those that were checked and that their passages do not support."""
    return [checked["sentence"] for checked in grounding if checked["supported"] is False]


def rating_data(rating: Rating) -> dict[str, Any]:
    """The reader's own rating of an answer or of one source."""
    return {name: getattr(rating, name) for name in ("score", "thumb", "tags", "comment")}


def session_data(session: Session) -> dict[str, Any]:
    """Of a session that `chat.selectors` has loaded."""
    return {
        "id": str(session.pk),
        "title": session.title,
        "workflow": session.workflow,
        "collections": session.collections,
        "pinned": session.pinned_at is not None,
        "archived": session.archived_at is not None,
        "folder": session.folder,
        "shared": sorted(share.scope for share in session.shares.all()),
        "message_count": getattr(session, "message_count", 0),
        "created_at": session.created_at.isoformat(),
        "updated_at": session.updated_at.isoformat(),
    }


def source_data(source: values.Source) -> dict[str, Any]:
    """A source while its answer is being written: the same fields as the stored one, without a rating."""
    chunk = source.chunk
    return {
        "marker": source.marker,
        "kind": chunk.kind,
        "document_id": None if chunk.kind == "web" else chunk.document_id,
        "chunk_id": chunk.chunk_id,
        "title": clean_text(chunk.title),
        "page": chunk.page,
        "heading": clean_text(chunk.heading),
        "file_name": clean_text(chunk.file_name),
        "url": clean_text(chunk.url),
        "published": chunk.published,
        "text": clean_text(chunk.text),
        "scores": clean_json(source.scores.as_dict()),
        "cited": source.cited,
        "spans": [],
    }


def _spans(source: Source, message: Message) -> list[dict[str, Any]]:
    """As stored; of an answer from before they were, what can be told without the document."""
    if source.spans is not None or not source.cited:
        return source.spans or []
    return spans_without_boxes(
        message.text, message.grounding or [], marker=source.marker, text=source.text, page=source.page
    )


def source_value(row: Source) -> values.Source:
    """A stored source as the engine has it. What only a search needs to know of a passage is not stored."""
    scores = {name: row.scores[name] for name in values.SCORE_NAMES if name in row.scores}
    chunk = values.StoredChunk(
        chunk_id=row.chunk_id,
        document_id=row.url if row.kind == Source.Kind.WEB else str(row.document_id),
        collection_id="",
        seq=0,
        title=row.title,
        text=row.text,
        page=row.page,
        heading=row.heading,
        file_name=row.file_name,
        kind="web" if row.kind == Source.Kind.WEB else "document",
        url=row.url,
        published=row.published,
    )
    return values.Source(marker=row.marker, chunk=chunk, scores=values.Scores(**scores), cited=row.cited)


def _columns(row: Source | DecisionStep, names: Sequence[str]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in names}
    return {name: str(value) if isinstance(value, UUID) else value for name, value in values.items()}
