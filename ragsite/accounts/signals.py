"""What follows a sign-in and a new password, by whatever door."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from allauth.account.signals import user_logged_in as allauth_logged_in
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import pre_save
from django.http import HttpRequest

from ragsite.accounts.adapters import groups_follow
from ragsite.accounts.sessions import sign_out_everywhere
from ragsite.accounts.tokens import keys_revoke


def connect() -> None:
    """Called once, when the apps are ready."""
    pre_save.connect(_before_save, sender=User, dispatch_uid="ragsite.signing_out")
    user_logged_in.connect(_signed_in, dispatch_uid="ragsite.signed_in")
    allauth_logged_in.connect(_signed_in_by_provider, dispatch_uid="ragsite.signed_in_by_provider")


def _before_save(
    sender: type[User],
    instance: User,
    raw: bool,
    update_fields: Collection[str] | None,
    **kwargs: Any,
) -> None:
    """With a new password, and with a closed account, end its sessions and tokens; with the account its API keys, too.
    The session that changed it gets a new row. By page, administration, command or shell; should the save fail, tokens
    are gone that could have stayed."""
    if raw or instance.pk is None:
        return
    if not instance.is_active:
        keys_revoke(user=instance)
    if not instance.is_active or _changes_password(instance, update_fields):
        sign_out_everywhere(user=instance)


def _changes_password(user: User, update_fields: Collection[str] | None) -> bool:
    if update_fields is not None and "password" not in update_fields:
        return False
    # A rehash at sign-in, of a hash that has become too weak, is no change.
    was_set = getattr(user, "_password", None) is not None  # Django's own mark of `set_password`
    if (
        update_fields is not None
        and set(update_fields) == {"password"}
        and not was_set
        and user.has_usable_password()
    ):
        return False
    return not User.objects.filter(pk=user.pk, password=user.password).exists()


def _signed_in(sender: Any, request: HttpRequest | None, user: User, **kwargs: Any) -> None:
    """Whatever signs somebody in, `sign_out_everywhere` has to find the session; allauth notes its own pages' alone."""
    if request is not None:
        request.user = user  # a request that no middleware has seen has none
        UserSession.objects.create_from_request(request)


def _signed_in_by_provider(sender: Any, user: User, sociallogin: Any = None, **kwargs: Any) -> None:
    if sociallogin is not None:
        groups_follow(user, sociallogin.account)
