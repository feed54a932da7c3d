"""What the worker does for the site itself. A task may come twice, or be cut short: both do no harm."""

from __future__ import annotations

from smtplib import SMTPException
from time import monotonic

from allauth.usersessions.models import UserSession
from celery import shared_task
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.mail import EmailMessage

from ragsite.accounts.personal_data import deletions_do
from ragsite.core.errors import UnavailableError
from ragsite.operations.notifications.changed_sources import changed_sources_notify
from ragsite.operations.notifications.emails import notifications_email
from ragsite.operations.notifications.overdue_documents import overdue_notify
from ragsite.operations.retention import retention_work
from ragsite.operations.webhooks.delivery import webhook_deliver
from retrieval.knowledge.services.samples import samples_load

RETENTION_S = 60.0  # then other work gets its turn
EMAIL_RETRY = {
    "autoretry_for": (SMTPException, OSError),
    "max_retries": 6,
    "retry_backoff": 10,
    "retry_backoff_max": 900,
}
WEBHOOK_RETRY = {
    "autoretry_for": (UnavailableError,),
    "max_retries": 10,
    "retry_backoff": 10,
    "retry_backoff_max": 3000,  # Redis hands out again what has waited for an hour
    "retry_jitter": False,
}


@shared_task
def samples_load_once() -> int:
    """The sample handbook, at the first run only. Returns how many documents were added."""
    return len(samples_load())


@shared_task
def accounts_tidy() -> int:
    """Expired sessions, and the browsers and addresses of those. Returns how many browsers are forgotten."""
    SessionStore.clear_expired()
    return UserSession.objects.exclude(
        session_key__in=Session.objects.values("session_key")
    ).delete()[0]


@shared_task(**EMAIL_RETRY)
def email_send(to: str, subject: str, text: str) -> None:
    """Send an e-mail; tried again for a quarter of an hour while the mail server is away or refuses."""
    EmailMessage(subject, text, to=[to], headers={"Auto-Submitted": "auto-generated"}).send()


@shared_task(**WEBHOOK_RETRY)
def webhook_send(webhook_id: str, message_id: str, body: str) -> None:
    """Tell a webhook; tried again for two hours while it does not take it."""
    webhook_deliver(webhook_id=webhook_id, message_id=message_id, body=body)


@shared_task
def notifications_email_task() -> int:
    """What people want by e-mail, too, and have not read yet. Returns to how many."""
    return notifications_email()


@shared_task
def changed_sources_notify_task() -> int:
    """Tell who asked of documents that changed and that their answers cite. Returns to how many."""
    return changed_sources_notify()


@shared_task
def overdue_notify_task() -> int:
    """Tell whose documents are overdue for review. Returns how many documents."""
    return overdue_notify()


@shared_task
def deletions_do_task() -> int:
    """Empty the accounts that are to be deleted. Returns how many are gone."""
    return deletions_do()


@shared_task
def retention_nightly() -> None:
    """Delete what is older than the site keeps it, for a minute; the next message goes on with what is left."""
    until = monotonic() + RETENTION_S
    for _ in retention_work():
        if monotonic() > until:
            retention_nightly.apply_async(retry=False)
            return
