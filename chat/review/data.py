"""Answers as the desk shows and exports them. Askers are named only to people who may see names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Prefetch
from django.utils import timezone

from chat.feedback import Rating, get_feedback
from chat.messages.ages import sources_with_ages
from chat.messages.data import message_data
from chat.models import AnswerReview, DeskEvent, Message
from chat.review.queue import collections_known
from chat.review.records import REASONS
from chat.review.roles import DeskAccess
from ragsite.core.text import shortened
from retrieval.engine.path_details import (
    AssessDetails,
    BoostDetails,
    ReflectDetails,
    RerankDetails,
    RetrieveDetails,
    StepDetails,
    details_of,
)
from retrieval.knowledge.selectors import as_uuid, visible_documents
from retrieval.models import Chunk

EXCERPT_CHARS = 280
EVENTS_SHOWN = 100
READINGS_SHOWN = 50
PASSAGES_NAMED = 300
TURNS_SHOWN = 20  # messages of the conversation before an answer
PRIVATE_DETAILS = {"consolidate": ("fact",)}  # what is remembered is for the user alone


def review_data(
    row: AnswerReview, *, access: DeskAccess, offered: set[UUID] | None = None
) -> dict[str, Any]:
    """A row of the queue, of `queue.with_details`. offered: ids of the collections that may be named, if known."""
    offered = offered_collections(access) if offered is None else offered
    question = row.message.reply_to
    return {
        "message_id": str(row.message_id),
        "session_id": str(row.session_id),
        "created_at": row.created_at.isoformat(),
        "question": shortened(question.text, EXCERPT_CHARS) if question else "",
        "answer": shortened(row.message.text, EXCERPT_CHARS) if row.message.text else "",
        "decision": row.decision or None,
        "status": row.status,
        "workflow": row.workflow,
        "model": row.model,
        "rating": row.worst_score,
        "reasons": reasons_of(row),
        "severity": row.severity,
        "total_ms": row.total_ms,
        "superseded": row.message.superseded,
        "collections": [
            str(link.collection_id)
            for link in row.collections.all()
            if link.collection_id in offered
        ],
        "user": row.user.get_username() if access.sees_names else None,
        "state": row.state,
        "state_by": row.state_by.get_username() if row.state_by else None,
        "state_at": row.state_at.isoformat() if row.state_at else None,
        "assignee": row.assignee.get_username() if row.assignee else None,
        "note": row.note,
        "labels": [label.name for label in row.labels.all()],
    }


def offered_collections(access: DeskAccess) -> set[UUID]:
    return set(collections_known(access.user).values_list("pk", flat=True))


def reasons_of(row: AnswerReview) -> list[str]:
    """Why it is in a queue, the worst reason first."""
    return [reason for reason in REASONS if getattr(row, reason)]


def answer_detail(row: AnswerReview, *, access: DeskAccess) -> dict[str, Any]:
    """The row with the whole answer, its conversation so far, ratings, prompts, and what was done at the desk."""
    messages = Message.objects.filter(pk=row.message_id).select_related("reply_to", "session")
    sources = Prefetch("sources", sources_with_ages(access.user))
    answer = get_feedback().with_ratings(messages.prefetch_related(sources, "decision_steps")).get()
    question = answer.reply_to
    data = message_for_desk(answer)
    events = row.events.order_by("-at", "-id")
    return {
        **review_data(row, access=access),
        "question": question.text if question else "",
        "message": data,
        "earlier": earlier_messages(answer),
        "ratings": [
            _rating_data(rating, answer, access)
            for rating in answer.shown_ratings  # type: ignore[attr-defined]
        ],
        "passages": passages_named(data["decision_path"], access=access),
        "filled_prompts": filled_prompts_of(answer, access),
        "path_deleted": path_is_deleted(answer, data["decision_path"]),
        "history": [
            _event_data(event) for event in events.exclude(kind=DeskEvent.Kind.READ)[:EVENTS_SHOWN]
        ],
        "read_by": [
            _event_data(event) for event in events.filter(kind=DeskEvent.Kind.READ)[:READINGS_SHOWN]
        ],
    }


def message_for_desk(message: Message) -> dict[str, Any]:
    """As its user sees it, without their own rating, what is remembered for them, and what they alone may do about
    it."""
    ratings = getattr(message, "shown_ratings", [])
    message.shown_ratings = []  # type: ignore[attr-defined]
    try:
        data = message_data(message)
    finally:
        message.shown_ratings = ratings  # type: ignore[attr-defined]
    if "offers" in data:
        data["offers"] = []
    for step in data.get("decision_path", ()):
        hidden = PRIVATE_DETAILS.get(step["name"], ())
        step["detail"] = {
            name: value for name, value in step["detail"].items() if name not in hidden
        }
    return data


def earlier_messages(answer: Message) -> list[dict[str, Any]]:
    """The conversation up to the answer's question, oldest first, TURNS_SHOWN messages at most."""
    question = answer.reply_to or answer
    before = Message.objects.filter(
        session=answer.session_id, superseded=False, created_at__lt=question.created_at
    )
    ended = before.exclude(status=Message.Status.STREAMING).select_related("session")
    newest = ended.prefetch_related("sources", "decision_steps")
    return [
        message_for_desk(message)
        for message in reversed(newest.order_by("-created_at", "-pk")[:TURNS_SHOWN])
    ]


def _event_data(event: DeskEvent) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "by": event.by_name,
        "at": event.at.isoformat(),
        "detail": event.detail,
    }


def filled_prompts_of(answer: Message, access: DeskAccess) -> list[dict[str, Any]]:
    """What the models were asked, where the site keeps that. text: null where it held what is remembered of the user.

    For those who see names alone: candidates of a search stand there, too, whose collections may tell who asked.
    """
    if not access.sees_names:
        return []
    return [
        {
            "step": row.step,
            "call": row.call,
            "name": row.name,
            "text": None if row.withheld else row.text,
        }
        for row in answer.filled_prompts.all()
    ]


def path_is_deleted(answer: Message, path: Sequence[Any]) -> bool:
    """Whether it has no path because it is older than the site keeps them."""
    days = settings.RAG.retention.paths_days
    return bool(days) and not path and answer.created_at < timezone.now() - timedelta(days=days)


def passages_named(path: Iterable[dict[str, Any]], *, access: DeskAccess) -> dict[str, str]:
    """Chunk id → title and page, of the candidates that the path names and its reader may read."""
    ids: dict[UUID, None] = {}
    for entry in path:
        named = [as_uuid(name) for name in _chunks_named(details_of(entry))]
        ids |= dict.fromkeys(filter(None, named))
    chunks = Chunk.objects.filter(
        pk__in=list(ids)[:PASSAGES_NAMED], document__in=visible_documents(access.user)
    )
    rows = chunks.values_list("pk", "document__title", "page", "seq")
    return {
        str(pk): f"{title}, {f'p. {page}' if page else f'#{seq + 1}'}"
        for pk, title, page, seq in rows
    }


def _chunks_named(details: StepDetails) -> Iterable[str]:
    match details:
        case RetrieveDetails():
            return [candidate.chunk_id for candidate in details.candidates or ()]
        case BoostDetails():
            return details.boosts or ()
        case RerankDetails() | AssessDetails() | ReflectDetails():
            return details.scores or ()
        case _:
            return ()


def _rating_data(rating: Rating, answer: Message, access: DeskAccess) -> dict[str, Any]:
    """source: the marker of the source that was rated, null for the answer."""
    markers = {source.pk: source.marker for source in answer.sources.all()}
    return {
        "source": markers.get(rating.source_id) if rating.source_id else None,
        "score": rating.score,
        "thumb": rating.thumb,
        "tags": rating.tags,
        "comment": rating.comment,
        "user": rating.user.get_username() if access.sees_names else None,
    }
