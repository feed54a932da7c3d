"""Notifications by e-mail: one message with all that is new, to a confirmed address, in the person's language."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ragsite.accounts.email import email_queue, site_origin
from ragsite.core.errors import UnavailableError
from ragsite.models import Notification, NotificationPreference
from ragsite.operations.notifications.selectors import pending_emails, shown_notifications

logger = logging.getLogger(__name__)
QUIET = timedelta(
    minutes=10
)  # between two e-mails to one person: what comes meanwhile is in the next one
LISTED = 20


def notifications_email() -> int:
    """Send what is pending. Returns how many e-mails; while the broker is away, what is pending stays so."""
    sent = 0
    for user_id, rows in pending_emails(quiet=QUIET).items():
        try:
            sent += _email(User.objects.get(pk=user_id), rows)
        except User.DoesNotExist:
            continue  # deleted meanwhile
        except UnavailableError:
            break  # it was logged
    return sent


def _email(user: User, rows: Sequence[Notification]) -> bool:
    """Whether there was an address to send it to. Raises UnavailableError."""
    address = (
        EmailAddress.objects.filter(user=user, verified=True).order_by("-primary", "pk").first()
    )
    wish = NotificationPreference.objects.filter(user=user).first()
    if address and wish:
        with translation.override(wish.language or None):
            email_queue(address.email, *_written(user, rows))
        NotificationPreference.objects.filter(pk=user.pk).update(last_email_at=timezone.now())
    else:
        logger.info("notifications of user %s are not sent: there is no confirmed address", user.pk)
    Notification.objects.filter(pk__in=[row.pk for row in rows]).update(email_pending=False)
    return bool(address and wish)


def _written(user: User, rows: Sequence[Notification]) -> tuple[str, str]:
    """Subject and text, in the active language."""
    origin = site_origin()
    subject = ngettext("Ragsite: {count} notification", "Ragsite: {count} notifications", len(rows))
    lines = []
    for shown in shown_notifications(rows[:LISTED], user=user):
        lines.append(f"- {shown.text}")
        if shown.detail:
            lines.append(f"  {shown.detail}")
        if shown.address:
            lines.append(f"  {origin}{shown.address}")
    if len(rows) > LISTED:
        lines.append(f"- {_('And more.')}")
    lines += ["", _("All notifications:") + f" {origin}{reverse('notifications')}"]
    lines.append(
        _("You chose these e-mails in your account:")
        + f" {origin}{reverse('account')}#notifications"
    )
    return subject.format(count=len(rows)), "\n".join(lines)
