"""E-mails: written where the request or the task is, sent by the worker, tried again while the mail server is away."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver

from ragsite.core.errors import UnavailableError
from ragsite.core.messages import worded
from ragsite.core.queueing import BrokerAwayError, enqueue

logger = logging.getLogger(__name__)
GOOD_FOR_S = 24 * 3600  # in the queue; the links in it do not live longer
# They take their time over a password or wait for the provider, which no transaction should: SQLite has one writer.
VIEWS_WITHOUT_EMAIL = {
    "account_login",
    "account_reauthenticate",
    "openid_connect_login",
    "openid_connect_callback",
}


def email_queue(to: str, subject: str, text: str) -> None:
    """A worker sends it. text: in the reader's language. Raises UnavailableError while the broker is away."""
    try:
        enqueue("ragsite.tasks.email_send", to, subject, text, required=True, expires_s=GOOD_FOR_S)
    except BrokerAwayError as away:
        logger.error("an e-mail cannot be sent, the broker is away: %s", away)
        raise UnavailableError(
            worded(
                "No e-mail can be sent at the moment, so nothing was changed; try again in a few minutes."
            )
        ) from away


def rollback_if_email_not_queued(patterns: Sequence[Any]) -> Sequence[Any]:
    """Wrap the views of `patterns`: a POST is rolled back if its e-mail cannot be queued."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            rollback_if_email_not_queued(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and pattern.name not in VIEWS_WITHOUT_EMAIL:
            pattern.callback = _atomic_form(pattern.callback)
    return patterns


def _atomic_form(view: Any) -> Any:
    @wraps(view)
    def in_transaction(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        with transaction.atomic() if request.method == "POST" else nullcontext():
            return view(request, *args, **kwargs)

    return in_transaction


def site_origin() -> str:
    """Origin of links in e-mails: the first trusted origin, else the site's own host and port.

    Never the host of the request, which is chosen by whoever asks for an e-mail to somebody else.
    """
    named = (origin for origin in settings.CSRF_TRUSTED_ORIGINS if "*" not in origin)
    return str(next(named, settings.SITE.local_origin))
