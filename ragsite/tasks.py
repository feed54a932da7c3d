"""What the worker does for the site itself. A task may come twice, or be cut short: both do no harm."""

from __future__ import annotations

from celery import shared_task

from ragsite.accounts.sessions import SessionStore
from ragsite.accounts.sign_in_limits import sign_in_limits_purge
from retrieval.services.samples import samples_load


@shared_task
def samples_load_once() -> int:
    """The sample handbook, at the first run only. Returns how many documents were added."""
    return samples_load().added


@shared_task
def accounts_tidy() -> int:
    """Expired sessions, and what the limits on guessing count no longer. Returns how many rows of the latter."""
    SessionStore.clear_expired()
    return sign_in_limits_purge()
