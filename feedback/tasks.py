"""Celery's side of feedback: the periodic round, and the one that a person wants."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.contrib.auth.models import User

from feedback.curation.gaps import gaps_refresh
from feedback.rounds.round import feedback_round, round_resume

AGAIN_S, MOST_TIMES = 60, 30  # while another round runs


@shared_task(bind=True, max_retries=MOST_TIMES)
def reindex_feedback(self: Any, by: int | None = None) -> str:
    """One round, as `manage.py reindex_feedback` runs it. A message that comes twice finds nothing left to do.

    by: the id of who wants it, None: the schedule. Somebody's round waits for the one that is running, which may have
    begun before what it is wanted for.
    """
    person = User.objects.filter(pk=by).first() if by is not None else None
    status = feedback_round(by=person).status
    if status == "busy" and by is not None and not self.request.called_directly and self.request.retries < MOST_TIMES:
        raise self.retry(countdown=AGAIN_S)
    return status


@shared_task
def reindex_feedback_resume() -> str:
    """Run a round that was cut off. A message too many finds nothing to do ("idle")."""
    return round_resume() or "idle"


@shared_task
def gaps_refresh_task() -> int:
    """Put new unanswered questions into their knowledge gaps, and take in what was found when gaps were asked again.
    Returns how many gaps are new."""
    return gaps_refresh()
