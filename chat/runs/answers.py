"""What a run writes into the database while it goes and when it ends. Synchronous: call it off the event loop.

A row is leased to the run that may write it. A run that showed no sign of life for a while is marked as interrupted,
and may come back: it goes on as long as the row still has its token. Whoever ends an answer in its place takes it away.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from chat.models import DecisionStep, Message, Session, Source
from chat.runs.outcome import Outcome
from ragsite.core.leases import Lease, LeaseLostError, run_out
from ragsite.core.text import clean_json, clean_text
from retrieval import values
from retrieval.trace import StepRecord

STALE_AFTER_S = 10.0  # an answer without a sign of life for this long was interrupted

STREAMING = Message.Status.STREAMING
UNLEASED: dict[str, Any] = {"lease_token": None, "lease_expires_at": None}
LOST_AFTER = 3  # times `stale_after_s`: then nobody waits any longer for a run to come back


def answer_lease(message_id: uuid.UUID, *, run_id: uuid.UUID | None = None, **of: Any) -> Lease:
    """The right of a run to write an answer; `of` narrows it by fields of Message. Without `run_id`: of a new run."""
    return Lease(Message.objects.filter(**of), message_id, seconds=STALE_AFTER_S, token=run_id)


def answer_save_partial(*, message_id: uuid.UUID, run_id: uuid.UUID, text: str) -> bool:
    """Store what has been written so far, and a sign of life. False: the answer is no longer this run's to write."""
    text = clean_text(text)
    try:
        answer_lease(message_id, run_id=run_id, status=STREAMING).renew(text=text)
    except LeaseLostError:
        return _save_taken_for_dead(answer_lease(message_id, run_id=run_id), text)
    return True


def _save_taken_for_dead(lease: Lease, text: str) -> bool:
    try:
        lease.renew(text=text)
    except LeaseLostError:
        return False
    try:
        with transaction.atomic():
            lease.held().update(status=STREAMING, finished_at=None)
    except IntegrityError:  # one_answer_at_once_per_session: another one was begun; this one shows when it ends
        pass
    return True


@transaction.atomic
def answer_finish(*, message_id: uuid.UUID, run_id: uuid.UUID, outcome: Outcome) -> bool:
    """Store the whole answer at once: text, decision, sources, decision path, usage.

    False where it is not this run's to finish: deleted, stopped elsewhere, asked again, or finished already.
    """
    message = answer_lease(message_id, run_id=run_id).held().select_for_update().first()
    if message is None:
        return False
    message.lease_token = message.lease_expires_at = None
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
    message.finished_at = timezone.now()
    message.save()
    Source.objects.bulk_create(_source_row(message, source) for source in outcome.sources)
    DecisionStep.objects.bulk_create(_step_row(message, step) for step in outcome.steps)
    Session.objects.filter(pk=message.session_id).update(updated_at=timezone.now())
    return True


def answers_mark_interrupted(*, at_start: bool = False, **of: Any) -> int:
    """Mark the answers whose run has died: still `streaming`, but without a sign of life for `stale_after_s`.

    `of` narrows it by fields of Message. `at_start`: this process is the only one that runs answers and has just
    begun, so every answer found streaming is an orphan, however fresh, and no run will come back. Returns how many.
    """
    ended: dict[str, Any] = {"status": Message.Status.INTERRUPTED, "finished_at": timezone.now()}
    if at_start:
        orphans = Message.objects.filter(Q(status=STREAMING) | _silent_run(), **of)
        ended |= UNLEASED
    else:
        orphans = Message.objects.filter(run_out(), status=STREAMING, **of)
    if not orphans.exists():  # the usual case costs no write lock
        return 0
    return orphans.update(**ended)


def answer_stop_silent(*, message_id: uuid.UUID) -> bool:
    """Stop an answer whose run can't be told to: it has shown no sign of life, and is refused should it come back."""
    silent = Message.objects.filter(Q(status=STREAMING) | _silent_run(), run_out(), pk=message_id)
    return bool(silent.update(status=Message.Status.STOPPED, finished_at=timezone.now(), **UNLEASED))


def answer_has_ended(message_id: uuid.UUID) -> bool:
    """Whether nothing more is to be waited for: the answer is finished, gone, or its run has been silent for long."""
    row = Message.objects.filter(pk=message_id).values_list("status", "lease_token", "lease_expires_at").first()
    if row is None:
        return True
    status, run_id, expires_at = row
    if run_id is None or expires_at is None:
        return bool(status != STREAMING)
    return bool(expires_at < timezone.now() - (LOST_AFTER - 1) * timedelta(seconds=STALE_AFTER_S))


def _silent_run() -> Q:
    """Marked as interrupted, while the run that wrote it may still come back."""
    return Q(status=Message.Status.INTERRUPTED, lease_token__isnull=False)


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
