"""What a run writes into the database while it goes and when it ends. Synchronous: call it off the event loop."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chat.json_values import clean_json, clean_text
from chat.models import DecisionStep, Message, Session, Source
from chat.outcome import Outcome
from retrieval import values
from retrieval.trace import StepRecord

STREAMING = Message.Status.STREAMING


def answer_save_partial(*, message_id: uuid.UUID, text: str) -> bool:
    """Store what has been written so far, and a sign of life. False: the answer is no longer being written."""
    running = Message.objects.filter(pk=message_id, status=STREAMING)
    return bool(running.update(text=clean_text(text), heartbeat_at=timezone.now()))


@transaction.atomic
def answer_finish(*, message_id: uuid.UUID, outcome: Outcome) -> bool:
    """Store the whole answer at once: text, decision, sources, decision path, usage.

    False where there is nothing to finish: the message was deleted, or is finished already.
    """
    message = Message.objects.select_for_update().filter(pk=message_id, status=STREAMING).first()
    if message is None:
        return False
    message.status = outcome.status
    message.text = clean_text(outcome.text)
    message.decision = outcome.decision
    message.reason = clean_text(outcome.reason)[:500]
    message.model = outcome.model[:200]
    message.clarification = clean_json(outcome.clarification.as_dict()) if outcome.clarification else None
    message.grounding = [clean_json(one.as_dict()) for one in outcome.grounding] or None
    message.usage = clean_json(outcome.usage)
    message.degraded = clean_json(outcome.degraded)
    message.error = outcome.failure.as_dict() if outcome.failure else None
    message.finished_at = message.heartbeat_at = timezone.now()
    message.save()
    Source.objects.bulk_create(_source_row(message, source) for source in outcome.sources)
    DecisionStep.objects.bulk_create(_step_row(message, step) for step in outcome.steps)
    Session.objects.filter(pk=message.session_id).update(updated_at=timezone.now())
    return True


def answers_mark_interrupted(*, at_start: bool = False, **of: Any) -> int:
    """Mark the answers whose run has died: still `streaming`, but without a sign of life for `stale_after_s`.

    `of` narrows it by fields of Message. `at_start`: this process is the only one that runs answers and has just
    begun, so every answer found streaming is an orphan, however fresh. Returns how many.
    """
    orphans = Message.objects.filter(status=STREAMING, **of)
    if not at_start:
        alive_since = timezone.now() - timedelta(seconds=settings.RAG.limits.stale_after_s)
        orphans = orphans.exclude(heartbeat_at__gte=alive_since)
    if not orphans.exists():  # the usual case costs no write lock
        return 0
    return orphans.update(status=Message.Status.INTERRUPTED, finished_at=timezone.now())


def _source_row(message: Message, source: values.Source) -> Source:
    chunk = source.chunk
    return Source(
        message=message,
        marker=source.marker,
        kind=chunk.kind,
        document_id=None if chunk.kind == "web" else _document_id(chunk.document_id),
        chunk_id=chunk.chunk_id[:100],
        title=clean_text(chunk.title)[:300],
        page=chunk.page,
        heading=clean_text(chunk.heading)[:500],
        file_name=clean_text(chunk.file_name)[:300],
        url=clean_text(chunk.url)[:2000],
        published=chunk.published[:10],
        text=clean_text(chunk.text),
        scores=clean_json(source.scores.as_dict()),
        cited=source.cited,
    )


def _document_id(text: str) -> uuid.UUID:
    """Documents of throw-away collections may have names in place of ids; each name has one id."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return uuid.uuid5(uuid.NAMESPACE_URL, text)


def _step_row(message: Message, step: StepRecord) -> DecisionStep:
    entry = clean_json(step.as_dict())
    return DecisionStep(
        message=message,
        seq=entry["seq"],
        name=entry["name"][:30],
        status=entry["status"][:10],
        summary=entry["summary"][:500],
        started_ms=max(0, entry["started_ms"]),
        duration_ms=max(0, entry["duration_ms"]),
        detail=entry["detail"],
    )
