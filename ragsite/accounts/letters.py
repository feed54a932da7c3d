"""E-mails: written where the request or the task is, sent by the worker, tried again while the mail server is away."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from smtplib import SMTPException

from allauth.account.models import EmailAddress
from celery import current_app
from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)
GOOD_FOR_S = 24 * 3600  # in the queue; the links in it do not live longer


@dataclass(frozen=True, slots=True)
class Letter:
    """One e-mail, in its reader's language. text: with its links."""

    to: str
    subject: str
    text: str


def letter_queue(letter: Letter) -> None:
    """A worker sends it; while the broker is away, this process does, once."""
    try:
        message = (letter.to, letter.subject, letter.text)
        current_app.send_task("ragsite.tasks.letter_send", message, retry=False, expires=GOOD_FOR_S)
    except (OperationalError, OSError) as away:
        logger.warning("the broker is away, an e-mail is sent at once: %s", away)
        try:
            letter_deliver(letter)
        except (SMTPException, OSError) as error:
            logger.warning("an e-mail is lost, broker and mail server are away: %s", error)


def letter_deliver(letter: Letter) -> None:
    """Raises smtplib.SMTPException, OSError."""
    headers = {"Auto-Submitted": "auto-generated"}
    EmailMessage(letter.subject, letter.text, to=[letter.to], headers=headers).send()


def confirmed_email(user: User) -> str:
    """Where letters about work may go; empty: nowhere."""
    address = EmailAddress.objects.get_verified(user)
    return address.email if address else ""


def site_origin() -> str:
    """Of links in letters: the first trusted origin, else the site's own host and port. Never what a request was
    addressed to: whoever asks for a letter to somebody else writes that, too."""
    if origin := next((origin for origin in settings.CSRF_TRUSTED_ORIGINS if "*" not in origin), ""):
        return str(origin)
    site = settings.SITE
    host = next((name for name in site.allowed_hosts if not name.startswith(("*", "."))), "")
    if not host:
        return str(site.local_origin)
    return f"https://{host}" if site.https else f"http://{host}:{site.port}"  # HTTPS: a proxy stands before the port
