"""Celery's side of feedback: the periodic round."""

from __future__ import annotations

from celery import shared_task

from feedback.rounds.round import feedback_round, rare_collections


@shared_task
def reindex_feedback() -> str:
    """One round, as `manage.py reindex_feedback` runs it. A message that comes twice finds nothing left to do."""
    with rare_collections():
        return feedback_round().status
