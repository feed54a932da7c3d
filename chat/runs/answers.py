"""What a run writes into the database while it goes and when it ends. Synchronous: call it off the event loop.

A row is leased to the run that may write it. A run that showed no sign of life for a while is marked as interrupted,
and may come back: it goes on as long as the row still has its token. Another process that ends the answer takes the
token away.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from django.db import IntegrityError, transaction
from django.db.models import Max, Q
from django.utils import timezone

from chat.messages.data import answer_columns
from chat.models import DecisionStep, Message, Session
from chat.runs.answer_details import prompts_store, sources_store, step_row
from chat.runs.spending import tokens_count, tokens_count_without_answer
from ragsite.core.errors import AppError
from ragsite.core.leases import Lease, LeaseLostError, run_out
from ragsite.core.messages import wordings_of
from ragsite.core.text import clean_text
from retrieval.engine import values
from retrieval.engine.trace import StepRecord
from retrieval.engine.usage import ModelCall

logger = logging.getLogger(__name__)
STALE_AFTER_S = 8.0  # an answer without a sign of life for this long was interrupted

STREAMING = Message.Status.STREAMING
UNLEASED: dict[str, Any] = {"lease_token": None, "lease_expires_at": None}
SPENT = ("llm_calls", "prompt_tokens", "completion_tokens", "total_ms")  # of an answer's usage
LOST_AFTER = 3  # times STALE_AFTER_S, after which a silent run is no longer waited for
EndStatus = Literal["complete", "cut", "stopped", "interrupted", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended, as it is stored. `answer.text`: all that was sent in chunks, no more and no less.

    continued: it went on with an answer that was there; its steps are numbered behind those of before. again: an
    earlier run may have stored a path, which goes. searched_for: the question as the first search had it; empty where
    nothing was searched for. calls: of models, for user_id, who asked; None: nobody who is known.
    """

    status: EndStatus
    answer: values.Answer
    steps: Sequence[StepRecord] = ()
    usage: dict[str, Any] = field(default_factory=dict)
    degraded: list[dict[str, str]] = field(default_factory=list)
    failure: AppError | None = None
    continued: bool = False
    again: bool = True
    searched_for: str = ""
    calls: Sequence[ModelCall] = ()
    user_id: int | None = None


def answer_lease(message_id: uuid.UUID, *, run_id: uuid.UUID | None = None, **where: Any) -> Lease:
    """The right of a run to write an answer, for STALE_AFTER_S. `where`: fields of Message that must hold as well.

    Without `run_id` the lease is a new run's; its token then is the run's id.
    """
    return Lease(Message.objects.filter(**where), message_id, seconds=STALE_AFTER_S, token=run_id)


def answer_save_partial(
    *,
    message_id: uuid.UUID,
    run_id: uuid.UUID,
    text: str,
    sources: Sequence[values.AnswerSource] = (),
) -> bool:
    """Store what has been written so far, and a sign of life. False: the answer is no longer this run's to write.

    sources: those that were chosen since the last time, so that the answer can go on from them if the site ends.
    """
    if not sources:
        return _text_save(message_id, run_id, clean_text(text))
    with transaction.atomic():  # the answer's row is locked by it
        saved = _text_save(message_id, run_id, clean_text(text))
        if saved:
            sources_store(Message(pk=message_id), sources)
    return saved


def answer_keep(*, message_id: uuid.UUID, run_id: uuid.UUID) -> bool:
    """A sign of life. False: the answer is no longer this run's to write."""
    try:
        answer_lease(message_id, run_id=run_id).renew()
    except LeaseLostError:
        return False
    return True


def _text_save(message_id: uuid.UUID, run_id: uuid.UUID, text: str) -> bool:
    try:
        answer_lease(message_id, run_id=run_id, status=STREAMING).renew(text=text)
    except (
        LeaseLostError
    ):  # if the run was taken for dead, the row is `interrupted`, but still has the run's token
        lease = answer_lease(message_id, run_id=run_id)
        try:
            lease.renew(text=text)
        except LeaseLostError:
            return False
        try:
            with transaction.atomic():
                lease.held().update(status=STREAMING, finished_at=None)
        except IntegrityError:  # one_answer_at_once_per_session
            logger.info(
                "message %s is shown when it ends: another one of its conversation was begun",
                message_id,
            )
    return True


@transaction.atomic
def answer_finish(*, message_id: uuid.UUID, run_id: uuid.UUID, outcome: RunOutcome) -> bool:
    """Store the whole answer at once: text, decision, sources, decision path, usage.

    False where it is not this run's to finish: deleted, stopped elsewhere, asked again, or finished already. What it
    used counts all the same.
    """
    held = answer_lease(message_id, run_id=run_id).held()
    message: Message | None = held.select_for_update().order_by().first()
    if message is None:
        tokens_count_without_answer(outcome.calls, user_id=outcome.user_id)
        return False
    answer = outcome.answer
    failure = outcome.failure
    columns = UNLEASED | answer_columns(
        answer, steps=outcome.steps, usage=outcome.usage, degraded=outcome.degraded
    )
    columns["searched_for"] = clean_text(outcome.searched_for)
    columns |= {
        "status": outcome.status,
        "error": _error(failure) if failure else None,
        "finished_at": timezone.now(),
    }
    if failure or not answer.text:
        columns["decision"] = ""
    columns["wordings"] |= wordings_of(failure.message) if failure else {}
    if outcome.continued:
        columns["reason"] = columns["reason"] or message.reason
        columns["searched_for"] = columns["searched_for"] or message.searched_for
        columns["wordings"] = message.wordings | columns["wordings"]
        columns["degraded"] = _degraded_before(message, outcome.steps) + columns["degraded"]
        columns["usage"] = _usage_of_both(message.usage, columns["usage"])
    for name, value in columns.items():
        setattr(message, name, value)
    message.save(update_fields=columns)
    sources_store(message, answer.sources)
    if outcome.again and not outcome.continued:
        message.decision_steps.all().delete()
        message.filled_prompts.all().delete()
    DecisionStep.objects.bulk_create(step_row(message, step) for step in outcome.steps)
    prompts_store(message, outcome.steps)
    Session.objects.filter(pk=message.session_id).update(updated_at=timezone.now())
    tokens_count(outcome.calls, user_id=outcome.user_id)  # last: others wait for these rows
    return True


def steps_stored(message: Message) -> int:
    """The number of the last step of its decision path."""
    last: int | None = message.decision_steps.aggregate(last=Max("seq"))["last"]
    return last or 0


def _degraded_before(message: Message, steps: Sequence[StepRecord]) -> list[dict[str, str]]:
    """What fell back before the answer was continued, but for what ran again since, as the writing does."""
    again = {step.name for step in steps}
    return [fallback for fallback in message.degraded if fallback["step"] not in again]


def _usage_of_both(begun: Mapping[str, Any], rest: Mapping[str, Any]) -> dict[str, Any]:
    """Of an answer and of what was added to it. The first token, and the rounds before it, are those of its beginning.

    begun: empty where the process that wrote it has died.
    """
    spent = {name: (begun.get(name) or 0) + (rest.get(name) or 0) for name in SPENT}
    return {**rest, **begun, **spent}


def _error(failure: AppError) -> dict[str, Any]:
    """`status`: the HTTP status where a plain call waits for the answer."""
    return {
        "code": failure.code,
        "content": failure.message,
        "status": failure.status,
        "retry_after_s": failure.retry_after_s,
    }


def answers_mark_interrupted(*, at_start: bool = False, **where: Any) -> int:
    """Mark the answers whose run has died: still `streaming`, but without a sign of life for STALE_AFTER_S.

    `where`: fields of Message that narrow it. `at_start`: this process is the only one that runs answers and has just
    begun, so every answer that is `streaming` is an orphan, however fresh, and no run will come back. Returns how many.
    """
    ended: dict[str, Any] = {"status": Message.Status.INTERRUPTED, "finished_at": timezone.now()}
    if at_start:
        orphans = Message.objects.filter(Q(status=STREAMING) | silent_run(), **where)
        ended |= UNLEASED
    else:
        orphans = Message.objects.filter(run_out(), status=STREAMING, **where)
    if not orphans.exists():  # the usual case costs no write lock
        return 0
    return orphans.update(**ended)


def answer_stop_silent(*, message_id: uuid.UUID) -> bool:
    """Stop an answer whose run shows no sign of life and so can't be asked to stop. Should the run come back,
    its writes are refused."""
    silent = Message.objects.filter(Q(status=STREAMING) | silent_run(), run_out(), pk=message_id)
    return bool(
        silent.update(status=Message.Status.STOPPED, finished_at=timezone.now(), **UNLEASED)
    )


def answer_has_ended(message_id: uuid.UUID) -> bool:
    """Whether nothing more is to be waited for: the answer is finished, gone, or its run has been silent for long."""
    row = (
        Message.objects.filter(pk=message_id)
        .values_list("status", "lease_token", "lease_expires_at")
        .first()
    )
    if row is None:
        return True
    status, run_id, expires_at = row
    if run_id is None or expires_at is None:
        return bool(status != STREAMING)
    return bool(expires_at < timezone.now() - (LOST_AFTER - 1) * timedelta(seconds=STALE_AFTER_S))


def silent_run() -> Q:
    """Marked as interrupted, while the run that wrote it may still come back."""
    return Q(status=Message.Status.INTERRUPTED, lease_token__isnull=False)


def answer_hand_over(
    *, message_id: uuid.UUID, run_id: uuid.UUID, text: str, sources: Sequence[values.AnswerSource]
) -> bool:
    """Store what has been written, and let another process go on with it at once. False: it is not this run's."""
    if not answer_save_partial(message_id=message_id, run_id=run_id, text=text, sources=sources):
        return False
    return bool(
        answer_lease(message_id, run_id=run_id).held().update(lease_expires_at=timezone.now())
    )
