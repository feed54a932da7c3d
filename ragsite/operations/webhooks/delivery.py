"""One message to one webhook, signed: https://www.standardwebhooks.com."""

from __future__ import annotations

import base64
import hmac
import secrets
import time
from datetime import timedelta

from django.utils import timezone

from ragsite.core.errors import AppError, UnavailableError
from ragsite.core.messages import worded
from ragsite.core.outgoing import fetch, guarded_pools
from ragsite.core.sealed import unseal
from ragsite.core.text import shortened
from ragsite.models import Webhook

PREFIX = "whsec_"
ANSWER_BYTES = 64 * 1024
GONE = 410  # the receiver wants no more
# After a failure: one that is slow holds up a worker for a while, and must not do so with each of a hundred messages.
PAUSE = timedelta(seconds=60)


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(24)).decode()


def signature(secret: str, message_id: str, stamp: int, body: str) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return (
        "v1,"
        + base64.b64encode(
            hmac.digest(key, f"{message_id}.{stamp}.{body}".encode(), "sha256")
        ).decode()
    )


def webhook_deliver(*, webhook_id: str, message_id: str, body: str) -> None:
    """Raises UnavailableError where another try may succeed."""
    hook = Webhook.objects.filter(pk=webhook_id, is_active=True).first()
    if hook is None:
        return
    if hook.last_error and hook.last_at and timezone.now() - PAUSE < hook.last_at <= timezone.now():
        raise UnavailableError(
            worded("It did not take the message before; it is tried again later.")
        )
    stamp = int(time.time())
    wants_more = True
    failure = None
    try:
        headers = {
            "Content-Type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(stamp),
            "webhook-signature": signature(unseal(hook.secret), message_id, stamp, body),
        }
        pools = guarded_pools(redirects=0)
        answer = fetch(
            pools, "POST", hook.url, most_bytes=ANSWER_BYTES, headers=headers, body=body.encode()
        )
        pools.clear()
        wants_more = answer.status != GONE
        if not 200 <= answer.status < 300:
            raise UnavailableError(worded("It answers with status {status}.", status=answer.status))
    except AppError as error:
        failure = error
    reason = shortened(str(failure.message), 500) if failure else ""
    off = (
        {} if wants_more else {"is_active": False}
    )  # whoever switched it off meanwhile has the last word
    Webhook.objects.filter(pk=hook.pk).update(last_at=timezone.now(), last_error=reason, **off)
    if isinstance(failure, UnavailableError) and wants_more:
        raise failure
