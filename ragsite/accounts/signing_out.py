"""What ends with a password, with an account, and with "sign out everywhere".

Sessions end by Django's own rule when the password changes, since each holds an HMAC of it; their rows and all tokens
are deleted here. The session that changed it gets a new row.
Sockets and streams follow their session or token (`ragsite.accounts.credentials`).
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.db import transaction
from django.db.models.signals import pre_save
from django.http import HttpRequest
from django.utils import timezone

from ragsite.accounts.choices import account_of, copy_into
from ragsite.accounts.letters import is_confirmed, letter_queue
from ragsite.accounts.sign_in_limits import device_remember
from ragsite.models import DEVICE, SIGNED_IN_AT, AccountSession, ApiToken


@transaction.atomic
def sign_out_everywhere(*, user: User) -> None:
    """End all sessions and revoke all tokens of the account; sockets and streams end within two seconds."""
    AccountSession.objects.filter(account=user).delete()
    ApiToken.objects.filter(user=user).delete()


def connect() -> None:
    """Connect the signals; called once, when the apps are ready."""
    pre_save.connect(_before_save, sender=User, dispatch_uid="ragsite.signing_out")
    user_logged_in.connect(_signed_in, dispatch_uid="ragsite.known_devices")


def _before_save(
    sender: type[User], instance: User, raw: bool, update_fields: Collection[str] | None, **kwargs: Any
) -> None:
    """By page, administration, command or shell. Should the save fail, tokens are gone that could have stayed."""
    if raw or instance.pk is None:
        return
    if not instance.is_active:
        sign_out_everywhere(user=instance)
    elif _changes_password(instance, update_fields):
        sign_out_everywhere(user=instance)
        if is_confirmed(account_of(instance)):
            transaction.on_commit(partial(letter_queue, "password_changed", user_id=instance.pk))


def _changes_password(user: User, update_fields: Collection[str] | None) -> bool:
    if update_fields is not None and "password" not in update_fields:
        return False
    # At a sign-in Django stores the same password anew where its hash has become too weak: no change.
    set_anew = getattr(user, "_password", None) is not None  # Django's own mark of `set_password`
    if update_fields is not None and set(update_fields) == {"password"} and not set_anew and user.has_usable_password():
        return False
    return not User.objects.filter(pk=user.pk, password=user.password).exists()


def _signed_in(sender: Any, request: HttpRequest | None, user: User, **kwargs: Any) -> None:
    if request is None:
        return
    copy_into(request.session, account_of(user))
    if not request.method:  # a bare HttpRequest comes from no browser
        return
    device_remember(request, user)
    request.session[DEVICE] = request.headers.get("User-Agent", "")[:200]
    request.session[SIGNED_IN_AT] = timezone.now().isoformat()
