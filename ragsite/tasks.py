"""What the worker does for the site itself. A task may come twice, or be cut short: both do no harm."""

from __future__ import annotations

import logging
from smtplib import SMTPException, SMTPRecipientsRefused
from typing import Any

from celery import shared_task

from ragsite.accounts.letters import Kind, letter_deliver, letters_take_up, letters_write
from ragsite.accounts.personal_data_jobs import personal_data_purge, personal_data_take_next
from ragsite.accounts.sessions import SessionStore
from ragsite.accounts.sign_in_limits import sign_in_limits_purge
from retrieval.services.samples import samples_load

logger = logging.getLogger(__name__)
LETTER_RETRY = {
    "autoretry_for": (SMTPException, OSError),
    "max_retries": 6,
    "retry_backoff": 10,
    "retry_backoff_max": 900,
}


@shared_task
def samples_load_once() -> int:
    """The sample handbook, at the first run only. Returns how many documents were added."""
    return samples_load().added


@shared_task
def accounts_tidy() -> int:
    """Expired sessions, exports and counts of guesses. Returns how many rows of the latter two."""
    SessionStore.clear_expired()
    return sign_in_limits_purge() + personal_data_purge()


@shared_task(**LETTER_RETRY)
def letter_send(kind: Kind, values: dict[str, Any], only: int | None = None) -> int:
    """Write and send the letters of a message, or one of them; returns how many there are.

    Several are sent by a task each, so that none is sent twice because another one failed.
    """
    letters = letters_write(kind, values)
    if only is None and len(letters) > 1:
        for number in range(len(letters)):
            letter_send.apply_async((kind, values, number), retry=False)
        return len(letters)
    for letter in letters[slice(only, None if only is None else only + 1)]:
        try:
            letter_deliver(letter)
        except SMTPRecipientsRefused as refusal:
            if any(code < 500 for code, _ in refusal.recipients.values()):
                raise  # greylisting and the like: later it may be taken
            logger.warning("the mail server refuses the recipient of an e-mail (%s) for good", kind)
    return len(letters)


@shared_task
def letters_waiting() -> int:
    """Letters that were asked for while the broker was away."""
    return letters_take_up()


@shared_task
def personal_data_next() -> str:
    """One export or deletion of a person's data, and then the next. A message too many finds nothing to do ("idle")."""
    kind = personal_data_take_next()
    if kind != "idle":
        personal_data_next.apply_async(retry=False)
    return kind
