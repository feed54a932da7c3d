"""What the worker does after a start of the site. It may come twice, or be cut short: both do no harm."""

from __future__ import annotations

from celery import shared_task

from retrieval.services.samples import samples_load


@shared_task
def samples_load_once() -> int:
    """The sample handbook, at the first run only. Returns how many documents were added."""
    return samples_load().added
