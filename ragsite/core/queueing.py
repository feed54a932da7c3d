"""Messages to the workers, by the task's name: the sender need not load what the task needs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from celery import current_app
from kombu.exceptions import OperationalError

BROKER_AWAY = (OperationalError, OSError)
logger = logging.getLogger(__name__)


class BrokerAwayError(Exception):
    """The broker took no message: nothing was queued."""


def enqueue(
    task: str,
    *arguments: str | int | None,
    required: bool = False,
    keywords: Mapping[str, Any] | None = None,
    expires_s: float | None = None,
) -> bool:
    """Queue a task; False where the broker is away, which is logged.

    required: raise BrokerAwayError instead. Leave it out where the database knows what is to be done, so that a later
    run of the schedule finds it. expires_s: drop the message when no worker has taken it by then.
    """
    try:
        current_app.send_task(task, arguments, kwargs=keywords, retry=False, expires=expires_s)
    except BROKER_AWAY as error:
        if required:
            raise BrokerAwayError(str(error)) from error
        logger.warning(
            "%s%s waits for a later round: the broker is away (%s)", task, arguments, error
        )
        return False
    return True
