"""Celery's side of conversations."""

from __future__ import annotations

from celery import shared_task

from chat.review.records import answers_catch_up

MOST, WITHIN_S = 20_000, 90.0  # a round; the next one goes on two minutes after it began


@shared_task
def answer_reviews_catch_up() -> int:
    """The rows of the review desk that are missing. Returns how many were made; a second message makes none."""
    return answers_catch_up(most=MOST, within_s=WITHIN_S)
