"""Answers whose process has died: which they are, who takes them over, and how those end that no process continues."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.expressions import CombinedExpression
from django.utils import timezone

from chat.messages.sources import SOURCE_COLUMNS, source_value
from chat.models import DecisionStep, Message, Source
from chat.runs import answers
from chat.runs.answer_details import fitted, sources_store
from chat.runs.answers import STREAMING, UNLEASED, silent_run
from chat.runs.recorded import Recorded
from ragsite.core.leases import Lease, LeaseLostError, run_out
from ragsite.core.text import clean_text
from retrieval.engine import values
from retrieval.engine.steps.grounding.claims import brackets_of

FIRST_SIGN = timedelta(seconds=0.5)  # before a run's first sign of life
TAKEN_OVER_WITHIN = timedelta(minutes=10)  # of the last sign of life; later nobody waits for it
TAKEN_OVER_AT_MOST = 2  # times: what ends one process after the other is left alone


def answers_being_written() -> dict[uuid.UUID, datetime]:
    """Answers that another process is to continue should theirs have died, and when their leases run out."""
    since = timezone.now() - TAKEN_OVER_WITHIN
    rows = Message.objects.filter(
        Q(status=STREAMING) | silent_run(),
        lease_expires_at__gt=since,
        taken_over__lt=TAKEN_OVER_AT_MOST,
    )
    written = rows.order_by("lease_expires_at").values_list("pk", "lease_expires_at")
    return {message_id: until for message_id, until in written if until}


def answer_declare_left(*, message_id: uuid.UUID, lease_expires_at: datetime) -> bool:
    """End the lease of a run whose process has died. False: it has shown a sign of life since, or none at all yet: on a
    busy machine nobody may be listening for seconds after the question was stored."""
    rows = Message.objects.filter(
        pk=message_id, lease_expires_at=lease_expires_at, lease_expires_at__gt=_never_renewed()
    )
    return bool(rows.update(lease_expires_at=timezone.now()))


def answer_was_begun(message_id: uuid.UUID) -> bool:
    """Whether its run has shown a sign of life: before, nobody has been shown anything of the answer."""
    unbegun = Message.objects.filter(
        pk=message_id, text="", lease_expires_at__lte=_never_renewed(), taken_over=0
    )
    return not unbegun.exists()


def _never_renewed() -> CombinedExpression:
    """Until when the lease of a question lasts whose run has not shown a sign of life."""
    return F("created_at") + (timedelta(seconds=answers.STALE_AFTER_S) + FIRST_SIGN)


def answer_take(
    *, message_id: uuid.UUID, shown: Recorded
) -> tuple[uuid.UUID, tuple[values.AnswerSource, ...]] | None:
    """Take an answer over from a run that died, with all that its readers were shown; its new token and its sources.

    None: somebody else has it, or it can't go on, as the conversation has another answer by now: then it is ended.
    """
    left = Message.objects.filter(
        Q(status=STREAMING) | silent_run(), taken_over__lt=TAKEN_OVER_AT_MOST
    )
    lease = Lease(left, message_id, seconds=answers.STALE_AFTER_S)
    try:
        with transaction.atomic():
            count = F("taken_over") + 1
            if not lease.take(
                status=STREAMING, finished_at=None, text=clean_text(shown.text), taken_over=count
            ):
                return None
            sources = _store_shown(message_id, shown)
    except IntegrityError:  # one_answer_at_once_per_session
        answer_leave(message_id=message_id, shown=shown)
        return None
    return lease.token, sources


def answer_give_back(*, message_id: uuid.UUID, token: uuid.UUID) -> None:
    """The process that took it over can't continue it after all: it is left at once, as if it had not been taken."""
    held = answers.answer_lease(message_id, run_id=token).held()
    held.update(lease_expires_at=timezone.now(), taken_over=F("taken_over") - 1)


@transaction.atomic
def answer_shown(
    *, message_id: uuid.UUID, token: uuid.UUID, shown: Recorded
) -> tuple[values.AnswerSource, ...] | None:
    """Store what the former run has shown since the answer was taken over; its sources. None: the token's holder has
    lost it by now."""
    lease = answers.answer_lease(message_id, run_id=token)
    try:
        lease.renew(text=clean_text(shown.text))
    except LeaseLostError:
        return None
    return _store_shown(message_id, shown)


@transaction.atomic
def answer_leave(
    *, message_id: uuid.UUID, shown: Recorded | None, token: uuid.UUID | None = None
) -> None:
    """End an answer that no process continues, as `interrupted`, with all that was shown. token: its holder's."""
    ended: dict[str, Any] = {
        "status": Message.Status.INTERRUPTED,
        "finished_at": timezone.now(),
        **UNLEASED,
    }
    if shown:
        ended["text"] = clean_text(shown.text)
    nobodys = Message.objects.filter(Q(status=STREAMING) | silent_run(), pk=message_id)
    nobodys = nobodys.filter(lease_token=token) if token else nobodys.filter(run_out())
    if nobodys.update(**ended) and shown:
        _store_shown(message_id, shown)


def _store_shown(message_id: uuid.UUID, shown: Recorded) -> tuple[values.AnswerSource, ...]:
    """The sources, the steps and the fallbacks of an answer whose text is stored. Returns the sources."""
    message = Message.objects.get(pk=message_id)
    message.degraded = shown.degraded
    message.save(update_fields=["degraded"])
    sent = [source_value(_row_of_data(message, data)) for data in shown.sources]
    cited = brackets_of(sent).cited(message.text)
    sources = tuple(replace(source, cited=source.marker in cited) for source in sent)
    sources_store(message, sources)
    message.decision_steps.filter(seq__in=[step["seq"] for step in shown.steps]).delete()
    DecisionStep.objects.bulk_create(
        DecisionStep(message=message, **fitted(DecisionStep, dict(step))) for step in shown.steps
    )
    return sources


def _row_of_data(message: Message, data: Mapping[str, Any]) -> Source:
    """A source that is not stored, from what was sent of it."""
    columns = {name: data[name] for name in SOURCE_COLUMNS if name in data}
    return Source(message=message, **columns)
