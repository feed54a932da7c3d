"""Celery's side of conversations."""

from __future__ import annotations

from celery import shared_task

from chat.services.attachments import attachments_sweep


@shared_task
def attachments_sweep_task() -> int:
    """Delete files that were attached to conversations which never began."""
    return attachments_sweep()
