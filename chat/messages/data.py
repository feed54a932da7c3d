"""A message as the contract shows it: the response of a question, an entry of the history, the end of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urljoin
from uuid import UUID

from chat.feedback import Rating
from chat.messages.ages import age_of_chunk, age_of_row, overdue_markers
from chat.messages.found import found_lines
from chat.messages.rendering import render_answer
from chat.models import DecisionStep, Message, Session, Source
from ragsite.core.localized import localized
from ragsite.core.messages import Wordings, worded, wordings_of
from ragsite.core.text import clean_json, clean_text
from retrieval.engine import values
from retrieval.engine.steps.grounding.claims import claims_of
from retrieval.engine.steps.grounding.support import support
from retrieval.engine.steps.grounding.verify import UNSUPPORTED_SCORE
from retrieval.engine.trace import StepRecord, Trace
from retrieval.knowledge.services.document_content import MOST_SPANS, page_spans

SOURCE_FIELDS = (
    "marker",
    "kind",
    "document_id",
    "chunk_id",
    "title",
    "page",
    "heading",
    "file_name",
    "url",
    "published",
    "text",
    "scores",
    "cited",
)
SITE_TEXTS = ("reason", "decision_path", "degraded", "grounding", "error")
CUT = worded("This answer reached its length limit; it can be continued.")
STOPPED = worded("You stopped this answer; it can be continued.")
SITE_ENDED = worded("The site was restarted while it wrote this answer; it can be continued.")
TEMPORARY = worded("Temporary chat")
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
    return shown | {"status_reason": localized(status_reason(shown)), "found": found_lines(shown)}


def status_reason(data: Mapping[str, Any]) -> str:
    """Why an answer is not complete; empty where it is, or is still being written. `data`: its `message_data`."""
    match data["status"]:
        case Message.Status.CUT:
            return CUT
        case Message.Status.STOPPED:
            return STOPPED
        case Message.Status.INTERRUPTED:
            # Whoever wrote it says why it broke off; where nobody did, the site itself ended.
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


def _versions(message: Message) -> list[str]:
    return [str(pk) for pk in getattr(message, "version_ids", None) or [message.pk]]


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
    sources = [
        {
            **_columns(source, SOURCE_FIELDS),
            **age_of_row(source),
            "spans": source.spans or [],
            "rating": ratings.get(source.pk),
            "moved": moved.get(source.chunk_id),
        }
        for source in message.sources.all()
    ]
    steps = [_columns(step, STEP_FIELDS) for step in message.decision_steps.all()]
    return _answer_fields(message, sources, steps) | {
        "rating": ratings.get(None),
        "sent_request": getattr(message, "sent_state", None),
    }


def _answer_fields(
    message: Message, sources: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> dict[str, Any]:
    clarification = message.clarification
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
        "support": message.support or None,
        "curated": message.curated,
        "written_by": message.written_by,
        # Without the documents that the options stand for.
        "clarification": {name: clarification[name] for name in ("question", "options")}
        if clarification
        else None,
        "sources": sources,
        "overdue_sources": overdue_markers(sources),
        "decision_path": steps,
        "usage": message.usage,
        "degraded": message.degraded,
        "follow_ups": message.follow_ups,
        "error": message.error,
        "superseded": message.superseded,
        "source_changed_at": message.source_changed_at.isoformat()
        if message.source_changed_at
        else None,
        "being_read": message.being_read,
        "versions": _versions(message),
        "created_at": message.created_at.isoformat(),
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
    return _answer_fields(message, sources, steps) | nowhere, message.wordings


def weak_sentences(grounding: Sequence[Mapping[str, Any]]) -> list[str]:
    """Those that were checked and that their passages do not support."""
    return [checked["sentence"] for checked in grounding if checked["supported"] is False]


def rating_data(rating: Rating) -> dict[str, Any]:
    """The reader's own rating of an answer or of one source."""
    return {name: getattr(rating, name) for name in ("score", "thumb", "tags", "comment")}


def session_title(session: Session) -> str:
    """What it is called by, in the active language. A temporary one does not show its first question in the browser's
    list of pages."""
    return str(localized(TEMPORARY)) if session.is_temporary else session.title


def session_data(session: Session) -> dict[str, Any]:
    """Of a session that `chat.selectors` has loaded."""
    return {
        "id": str(session.pk),
        "title": session_title(session),
        "temporary": session.is_temporary,
        "expires_at": session.expires_at.isoformat() if session.expires_at else None,
        "workflow": session.workflow,
        "collections": session.collections,
        "assistant": session.assistant,
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
    return source_columns(source) | age_of_chunk(source.chunk)


def source_columns(source: values.Source) -> dict[str, Any]:
    """What is stored of it."""
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


def evidence_address(source: Mapping[str, Any], *, site: str) -> str:
    """Of a web page its own; else the document's page, where the passage is marked."""
    if source["kind"] == "web":
        return str(source["url"])
    return urljoin(site, f"/documents/{source['document_id']}/#chunk-{source['chunk_id']}")


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
    return values.Source(
        marker=row.marker, chunk=chunk, scores=values.Scores(**scores), cited=row.cited
    )


def _columns(row: Source | DecisionStep, names: Sequence[str]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in names}
    return {
        name: str(value) if isinstance(value, UUID) else value for name, value in values.items()
    }


# ------------------------------------------------------------------------------------------------ cited places
def source_spans(
    source: values.Source, *, answer: str, grounding: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """`spans` of a cited source as it is stored: {page, boxes, start, end} each. Asks the database."""
    places = _cited_places(source, answer, grounding) if source.cited else []
    return [span for start, end in places for span in page_spans(source.chunk, start, end)][
        :MOST_SPANS
    ]


def _cited_places(
    source: values.Source, answer: str, grounding: Sequence[Mapping[str, Any]]
) -> list[tuple[int, int]]:
    """(start, end) in the source's text, in order: what of it bears out the sentences that cite it.

    grounding: as a message keeps it. Answers that quote, or were stopped, have none: they are looked up here.
    """
    checked = [
        (place["start"], place["end"])
        for sentence in grounding
        for place in sentence.get("evidence", ())
        if place["marker"] == source.marker
    ]
    if not checked:
        quotes = [claim.text for claim in claims_of(answer) if source.marker in claim.markers]
        found = [support(quote, [source.chunk], question="") for quote in quotes]
        near = [one for one in found if (one.score or 0.0) >= UNSUPPORTED_SCORE]
        checked = [(place.start, place.end) for one in near for _, place in one.places]
    return sorted(set(checked))[:MOST_SPANS]


def cited_page(row: Source) -> int | None:
    """The page of what is cited first of a stored source: a passage may begin on an earlier one."""
    return next((span["page"] for span in row.spans or () if span.get("page")), row.page)
