"""Celery's side of feedback: the nightly round, and the one that a person wants."""

from __future__ import annotations

from celery import shared_task
from django.contrib.auth.models import User

from feedback.curation.gaps import gap_results_take, gaps_refresh
from feedback.curation.transfer.imports import imports_work
from feedback.rounds.round import feedback_round


@shared_task
def reindex_feedback(by: int | None = None) -> str:
    """One round, as `manage.py reindex_feedback` runs it. A message that comes twice finds nothing left to do.

    by: the id of the person who wants it, None: the schedule.
    """
    person = User.objects.filter(pk=by).first() if by is not None else None
    return feedback_round(by=person).status


@shared_task
def gaps_refresh_task() -> int:
    """Put new unanswered questions into their knowledge gaps, and take in what was found when gaps were asked again.
    Returns how many gaps are new."""
    return gaps_refresh()


@shared_task
def gap_results_take_task() -> None:
    """Take in what was found when gaps were asked again, soon: the asker waits for the news."""
    gap_results_take()


@shared_task
def curation_imports_work() -> int:
    """Check, write or take back files of checked answers and test questions. Returns how many."""
    return imports_work()
