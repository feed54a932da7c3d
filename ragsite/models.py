"""Tables of accounts: browser sessions, API tokens, and what the limits on guessing passwords count."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.contrib.sessions.backends.base import SessionBase


class AccountSession(AbstractBaseSession):
    """A browser's session, with its account beside the data: all sessions of an account are found without decoding.

    No constraint in the database: a request that saves its session while the account is deleted must not fail.
    """

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        db_constraint=False,
        related_name="+",
        verbose_name=_("account"),
    )

    class Meta(AbstractBaseSession.Meta):
        verbose_name = _("browser session")  # type: ignore[assignment]
        verbose_name_plural = _("browser sessions")  # type: ignore[assignment]

    def __str__(self) -> str:
        return "a browser session"  # never its key, with which anybody could use the session

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        from ragsite.accounts.sessions import SessionStore  # which imports this module

        return SessionStore


class ApiToken(models.Model):
    """A key for `Authorization: Token …`. Only its SHA-256 is kept; a key has 160 random bits and needs no salt.

    prefix: the key's first characters, so that its owner can tell it from others.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens", verbose_name=_("user")
    )
    name = models.CharField(max_length=100, blank=True, verbose_name=_("name"))
    prefix = models.CharField(max_length=8, verbose_name=_("prefix"))
    key_hash = models.CharField(max_length=64, unique=True, verbose_name=_("key hash"))
    created_at = models.DateTimeField(default=timezone.now, verbose_name=_("created at"))
    last_used_at = models.DateTimeField(null=True, blank=True, verbose_name=_("last used at"))

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name or 'token'} ({self.prefix}…)"


class AttemptCounter(models.Model):
    """Attempts that count towards one limit. key: HMAC of what is limited; times: seconds since 1970, oldest first."""

    key = models.CharField(max_length=64, primary_key=True, verbose_name=_("key"))
    times = models.JSONField(default=list, verbose_name=_("times"))
    expires_at = models.DateTimeField(db_index=True, verbose_name=_("expires at"))

    class Meta:
        verbose_name = _("attempt counter")
        verbose_name_plural = _("attempt counters")

    def __str__(self) -> str:
        return self.key[:8]


class KnownOrigin(models.Model):
    """A place from which an account has signed in. origin: HMAC of the browser's cookie, or of the address."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", verbose_name=_("user")
    )
    origin = models.CharField(max_length=64, verbose_name=_("origin"))
    last_used_at = models.DateTimeField(db_index=True, verbose_name=_("last used at"))

    class Meta:
        verbose_name = _("known origin")
        verbose_name_plural = _("known origins")
        constraints = [models.UniqueConstraint(fields=["user", "origin"], name="known_origin_once")]

    def __str__(self) -> str:
        return self.origin[:8]


class SignUp(models.Model):
    """Where an account was made. block: HMAC of the block of addresses (IPv4 /24, IPv6 /48); empty: not known.

    Feedback counts young accounts of one block as one voter. Accounts that were made otherwise have no row.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="sign_up",
        verbose_name=_("user"),
    )
    block = models.CharField(max_length=64, blank=True, verbose_name=_("block"))

    class Meta:
        verbose_name = _("sign up")
        verbose_name_plural = _("sign ups")

    def __str__(self) -> str:
        return self.block[:8]
