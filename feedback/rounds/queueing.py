"""A round that a person wants, as a message to the workers: a request is not to wait for one."""

from __future__ import annotations

from dataclasses import replace

from celery import current_app
from django.contrib.auth.models import User
from django.utils import timezone
from kombu.exceptions import OperationalError

from feedback.models import FeedbackState
from feedback.rounds.live import feedback_state
from feedback.rounds.round import RoundOutcome, feedback_round
from ragsite.core.errors import UnavailableError
from ragsite.core.wording import worded

TASK = "feedback.tasks.reindex_feedback"


class QueueAwayError(UnavailableError):
    code = "queue_unavailable"
    message = worded("The task queue is away; try again shortly.")


def round_queue(*, by: User) -> RoundOutcome:
    """Tell a worker to run a round as this person. Its outcome takes the place of this one in `FeedbackState`.

    Raises QueueAwayError.
    """
    at = timezone.localtime().strftime("%Y-%m-%d %H:%M")
    reason = worded("A worker was told to run a round at {at}; its outcome will stand in the state of feedback.", at=at)
    outcome = RoundOutcome(status="queued", reason=reason, by=by.get_username())
    before = feedback_state().last_round
    state = FeedbackState.objects.filter(pk=1)
    state.update(last_round=outcome.as_dict())  # before a worker can be done with it
    try:
        current_app.send_task(TASK, kwargs={"by": by.pk}, retry=False)
    except (OperationalError, OSError) as error:
        state.update(last_round=before)
        raise QueueAwayError from error
    return outcome


def round_queue_or_run(*, by: User) -> RoundOutcome:
    """The same; where the queue is away the round runs at once, and its notes say so. Raises RoundLostError."""
    try:
        return round_queue(by=by)
    except QueueAwayError:
        outcome = feedback_round(by=by)
        return replace(outcome, notes=(*outcome.notes, worded("the task queue was away, so the round was run at once")))
