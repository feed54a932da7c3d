"""Messages to the workers, by the task's name: who sends one need not load what the task needs."""

from __future__ import annotations

import logging

from celery import current_app
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)


def task_queue(task: str, *arguments: str | int) -> None:
    """A broker that is away loses nothing: the database knows what is to be done, and a later round finds it."""
    try:
        current_app.send_task(task, arguments, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("%s%s waits for a later round: the broker is away (%s)", task, arguments, error)
