"""Tables of accounts beside allauth's: what people choose, API tokens, and the work of giving out or deleting all that
is a person's. And the settings that administrators have changed."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ragsite.core.leases import Leased


class Account(models.Model):
    """The language that a person has chosen, for letters to them. Without a row: none yet."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="account",
        verbose_name=_("user"),
    )
    language = models.CharField(
        max_length=10, blank=True, help_text=_("Empty: as the browser asks for."), verbose_name=_("language")
    )

    class Meta:
        verbose_name = _("account")
        verbose_name_plural = _("accounts")

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.user_id}"


class PersonalDataJob(Leased):
    """The deletion of an account by a worker, which survives a restart; and the record that it, or an export by staff,
    was done: no name, only the number of the account."""

    class Kind(models.TextChoices):
        EXPORT = "export", _("Export")
        DELETION = "deletion", _("Deletion")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=10, choices=Kind, verbose_name=_("kind"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="personal_data_jobs",
        verbose_name=_("user"),
    )
    user_number = models.BigIntegerField(
        help_text=_("The account's number, also after its deletion."), verbose_name=_("user number")
    )
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("The person, or who did it for them."),
        verbose_name=_("requested by"),
    )
    reason = models.CharField(max_length=500, blank=True, verbose_name=_("reason"))
    created_at = models.DateTimeField(default=timezone.now, verbose_name=_("created at"))
    finished_at = models.DateTimeField(null=True, blank=True, verbose_name=_("finished at"))

    class Meta:
        verbose_name = _("personal data job")
        verbose_name_plural = _("personal data jobs")
        ordering = ["-created_at"]
        permissions = [("handle_personal_data", "Can export and delete all that is a person's")]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "kind"], condition=Q(finished_at=None), name="one_open_personal_data_job"
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.user_number}"


class ApiToken(models.Model):
    """What a program sends as `Authorization: Bearer …`: the token of a sign-in, which may do all that its user may and
    ends with a sign-out everywhere; or an API key, which has scopes and ends when it is revoked or expires.

    Only its SHA-256 is kept: it has 160 random bits and needs no salt. prefix: its first characters, for its owner.
    """

    class Scope(models.TextChoices):
        READ = "read", _("Search, and read documents")
        ASK = "ask", _("Ask questions, and read conversations")
        WRITE = "write", _("Upload, change and delete documents")
        REVIEW = "review", _("Work at the review desk, as far as the owner may")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens", verbose_name=_("user")
    )
    name = models.CharField(max_length=100, blank=True, verbose_name=_("name"))
    prefix = models.CharField(max_length=12, verbose_name=_("prefix"))
    key_hash = models.CharField(max_length=64, unique=True, verbose_name=_("key hash"))
    scopes = models.JSONField(
        default=list,
        blank=True,
        help_text=_("What a key may do. Empty: the token of a sign-in."),
        verbose_name=_("scopes"),
    )
    collection_ids = models.JSONField(
        default=list,
        blank=True,
        help_text=_("The only collections that a key sees. Empty: all that its owner sees."),
        verbose_name=_("collections"),
    )
    keeps_conversations = models.BooleanField(
        default=False,
        help_text=_("Questions asked through other programs' protocols stay in the owner's history."),
        verbose_name=_("keeps conversations"),
    )
    expires_at = models.DateTimeField(null=True, blank=True, verbose_name=_("expires at"))
    created_at = models.DateTimeField(default=timezone.now, verbose_name=_("created at"))
    last_used_at = models.DateTimeField(null=True, blank=True, verbose_name=_("last used at"))

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name or 'token'} ({self.prefix}…)"

    @property
    def scope_labels(self) -> list[str]:
        """In the active language."""
        return [str(self.Scope(scope).label) for scope in self.scopes]

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()
