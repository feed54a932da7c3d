"""E-mails: written where the request or the task is, sent by the worker, tried again while the mail server is away."""

from __future__ import annotations

import logging

from celery import current_app
from django.conf import settings
from django.core.mail import EmailMessage
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)
GOOD_FOR_S = 24 * 3600  # in the queue; the links in it do not live longer


def letter_queue(to: str, subject: str, text: str) -> None:
    """A worker sends it. text: in the reader's language."""
    try:
        task = "ragsite.tasks.letter_send"
        current_app.send_task(task, (to, subject, text), retry=False, expires=GOOD_FOR_S)
    except (OperationalError, OSError) as away:
        logger.error("an e-mail is lost, the broker is away: %s", away)


def letter_deliver(to: str, subject: str, text: str) -> None:
    """Raises smtplib.SMTPException, OSError."""
    EmailMessage(subject, text, to=[to], headers={"Auto-Submitted": "auto-generated"}).send()


def site_origin() -> str:
    """Of links in letters: the first trusted origin, else the site's own host and port. Never what a request was
    addressed to: whoever asks for a letter to somebody else writes that, too."""
    named = (origin for origin in settings.CSRF_TRUSTED_ORIGINS if "*" not in origin)
    return str(next(named, settings.SITE.local_origin))
