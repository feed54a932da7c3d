"""E-mails about an account: what each says, and their sending by the worker.

A message to the worker holds no link: links are made when the letter is written, and only where they still apply. So
nothing that opens an account waits in a queue, and a request answers the same, and as fast, whether or not there is
anybody to write to.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from ragsite.accounts.email_links import confirmation_token
from ragsite.models import Account, WaitingLetter

logger = logging.getLogger(__name__)
Kind = str  # a key of WRITERS
CONSOLE_BACKEND = "django.core.mail.backends.console.EmailBackend"
MOST_WAITING = 1000  # for a broker that is away: more is somebody who tries addresses
WAITS_AT_MOST = timedelta(days=1)
TAKEN_UP_AT_ONCE = 100
ACCOUNTS_PER_ADDRESS = 5  # that one letter's address may belong to


@dataclass(frozen=True, slots=True)
class Letter:
    """One e-mail. url: behind its button, where it has one."""

    to: str
    language: str
    subject: str
    paragraphs: tuple[str, ...]
    button: str = ""
    url: str = ""


# ------------------------------------------------------------------------------------------------ asked for
def letter_queue(kind: Kind, **values: Any) -> None:
    """A worker writes and sends it. While the broker is away, it waits in the database (`letters_take_up`)."""
    values |= {"language": translation.get_language() or settings.LANGUAGE_CODE}
    try:
        current_app.send_task("ragsite.tasks.letter_send", (kind, values), retry=False)
    except (OperationalError, OSError) as error:
        kept = WaitingLetter.objects.count() < MOST_WAITING
        if kept:
            WaitingLetter.objects.create(kind=kind, values=values)
        what = "waits" if kept else "is lost, too many wait already"
        logger.warning("an e-mail (%s) %s: the broker is away (%s)", kind, what, error)


def letters_take_up() -> int:
    """Hand letters that waited for the broker to the workers; returns how many. What is a day old is dropped."""
    WaitingLetter.objects.filter(created_at__lt=timezone.now() - WAITS_AT_MOST).delete()
    count = 0
    for letter in WaitingLetter.objects.order_by("pk")[:TAKEN_UP_AT_ONCE]:
        with transaction.atomic():  # taken by one worker only; kept where the broker is away again
            if not WaitingLetter.objects.filter(pk=letter.pk).delete()[0]:
                continue
            current_app.send_task("ragsite.tasks.letter_send", (letter.kind, letter.values), retry=False)
        count += 1
    return count


def letters_forget(user: User) -> int:
    """Those that wait for a person, by number or address. Returns how many."""
    about = Q(values__user_id=user.pk)
    if user.email:
        about |= Q(values__email=user.email)
    return WaitingLetter.objects.filter(about).delete()[0]


def letters_are_sent() -> bool:
    """Without `EMAIL_URL` they are only written to the log of the worker."""
    return bool(settings.EMAIL_BACKEND != CONSOLE_BACKEND)


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


# ------------------------------------------------------------------------------------------------ written
def letters_write(kind: Kind, values: dict[str, Any]) -> list[Letter]:
    """The letters of a message, in their readers' language; none where it no longer applies."""
    values = {name: value for name, value in values.items() if name != "origin"}  # which an earlier version queued
    return list(WRITERS[kind](**values))


def _confirm(*, user_id: int, email: str, language: str) -> Iterator[Letter]:
    account = Account.objects.select_related("user").filter(user=user_id, pending_email=email).first()
    if account is None or not account.user.is_active:
        return
    language = account.language or language
    with translation.override(language):
        path = reverse("email_confirm", args=[confirmation_token(user_id=user_id, email=email)])
        yield Letter(
            to=email,
            language=language,
            subject=_("Confirm your e-mail address"),
            paragraphs=(
                _("Somebody, probably you, gave this address for the account “%(name)s” on Ragsite.") % _name(account),
                _("Follow the link while you are signed in there, within 24 hours. From then on a forgotten password "
                  "can be replaced by e-mail."),
                _("If it was not you, do nothing: without the link the address is not used."),
            ),
            button=_("Confirm the address"),
            url=site_origin() + path,
        )  # fmt: skip


def _address_changed(*, user_id: int, email: str, language: str) -> Iterator[Letter]:
    account = Account.objects.select_related("user").filter(user=user_id).first()
    if account is None:
        return
    language = account.language or language
    with translation.override(language):
        yield Letter(
            to=email,
            language=language,
            subject=_("Your e-mail address was changed"),
            paragraphs=(
                _("The account “%(name)s” on Ragsite no longer uses this address.") % _name(account),
                _("If it was not you, change your password at once, and tell an administrator of the site."),
            ),
        )


def _reset(*, email: str, language: str) -> Iterator[Letter]:
    for account in accounts_with(email):
        user = account.user
        key = urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)
        reader = account.language or language
        with translation.override(reader):
            yield Letter(
                to=account.confirmed_email,
                language=reader,
                subject=_("Choose a new password"),
                paragraphs=(
                    _("Somebody, probably you, asked for a new password for the account “%(name)s” on Ragsite.")
                    % _name(account),
                    _("The link works once, within two hours. A new password signs the account out everywhere."),
                    _("If it was not you, do nothing: your password stays as it is."),
                ),
                button=_("Choose a new password"),
                url=site_origin() + reverse("password_reset_confirm", args=key),
            )


def _password_changed(*, user_id: int, language: str) -> Iterator[Letter]:
    account = Account.objects.select_related("user").filter(user=user_id).first()
    if account is None or not is_confirmed(account):
        return
    language = account.language or language
    with translation.override(language):
        yield Letter(
            to=account.confirmed_email,
            language=language,
            subject=_("Your password was changed"),
            paragraphs=(
                _("The account “%(name)s” on Ragsite has a new password.") % _name(account),
                _("If it was not you, choose another one with “Forgot your password?” on the sign-in page, and tell an "
                  "administrator of the site."),
            ),
        )  # fmt: skip


def _deleted(*, email: str, name: str, language: str) -> Iterator[Letter]:
    with translation.override(language):
        yield Letter(
            to=email,
            language=language,
            subject=_("Your account was deleted"),
            paragraphs=(
                _("The account “%(name)s” on Ragsite and everything that belonged to it are deleted.") % {"name": name},
            ),
        )


WRITERS: dict[str, Callable[..., Iterator[Letter]]] = {
    "confirm": _confirm,
    "address_changed": _address_changed,
    "reset": _reset,
    "password_changed": _password_changed,
    "deleted": _deleted,
}


def use_letter(kind: Kind, write: Callable[..., Iterator[Letter]]) -> None:
    """Say what a letter of another app says. write: called with the values of its message and `language`."""
    WRITERS[kind] = write


def is_confirmed(account: Account) -> bool:
    """An address that staff put in place of the confirmed one is not."""
    return bool(account.confirmed_email) and account.confirmed_email.casefold() == account.user.email.casefold()


def accounts_with(email: str) -> list[Account]:
    """Those that may be reset by a letter to this address."""
    accounts = Account.objects.select_related("user").filter(confirmed_email__iexact=email, user__is_active=True)
    usable = [
        account for account in accounts.order_by("pk") if is_confirmed(account) and account.user.has_usable_password()
    ]
    return usable[:ACCOUNTS_PER_ADDRESS]


def _name(account: Account) -> dict[str, str]:
    return {"name": account.user.get_username()}


# ------------------------------------------------------------------------------------------------ sent
def letter_deliver(letter: Letter) -> None:
    """Raises smtplib.SMTPException, OSError."""
    with translation.override(letter.language):
        text = render_to_string("accounts/letters/letter.txt", {"letter": letter})
        html = render_to_string("accounts/letters/letter.html", {"letter": letter})
    headers = {"Auto-Submitted": "auto-generated"}
    message = EmailMultiAlternatives(letter.subject, text, to=[letter.to], headers=headers)
    message.attach_alternative(html, "text/html")
    message.send()
