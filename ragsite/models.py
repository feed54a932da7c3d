"""Tables of the site itself: deletions that wait, its processes, API tokens, webhooks, prompts of its own."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core.validators import URLValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Account(models.Model):
    """That a person's account is to be deleted: a worker does it, and starts again where it was killed."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="account"
    )
    deletion_requested_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        permissions = [("handle_personal_data", "Can export and delete all that is a person's")]

    def __str__(self) -> str:
        return f"account {self.user_id}"


class SiteProcess(models.Model):
    """A process that serves the site, as it shows itself every few seconds (`ragsite.runtime.presence`).

    facts: what must be the same in all of them, or be known of each.
    """

    name = models.CharField(max_length=200, primary_key=True)  # kind, host and process id
    kind = models.CharField(max_length=10)
    host = models.CharField(max_length=100)
    pid = models.PositiveIntegerField()
    facts = models.JSONField(default=dict)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


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
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="api_tokens",
        verbose_name=_("user"),
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
        help_text=_(
            "Questions asked through other programs' protocols stay in the owner's history."
        ),
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


class Webhook(models.Model):
    """An address that receives events, signed as Standard Webhooks has it. `secret` is encrypted."""

    class Event(models.TextChoices):
        DOCUMENT_READY = "document.ready", _("A document is ready")
        DOCUMENT_FAILED = "document.failed", _("A document could not be read")
        ANSWER_RATED_DOWN = "answer.rated_down", _("An answer is rated down")
        GAP_OPENED = "gap.opened", _("An unanswered question is reported")
        REQUEST_SENT = "request.sent", _("A question is sent to a person")
        REQUEST_ENDED = (
            "request.ended",
            _("A question that was sent to a person is answered or declined"),
        )

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, verbose_name=_("name"))
    url = models.CharField(
        max_length=1000, validators=[URLValidator(["http", "https"])], verbose_name=_("address")
    )
    events = models.JSONField(default=list, verbose_name=_("events"))
    is_active = models.BooleanField(default=False, verbose_name=_("active"))
    secret = models.TextField(editable=False)
    last_at = models.DateTimeField(null=True, editable=False, verbose_name=_("last sent at"))
    last_error = models.CharField(
        max_length=500, blank=True, editable=False, verbose_name=_("last error")
    )

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Notification(models.Model):
    """That something happened which one person wants to know, once: happening again makes the row new and unread.

    subject: the id of what it is about. What is said of that is looked up when it is read, with the reader's right to
    see it. count: of things that happened together. email_pending: the person wants it by e-mail, too.
    """

    class Kind(models.TextChoices):
        SHARE = "share.received", _("Somebody shares a collection with you")
        QUESTION_ANSWERED = (
            "question.answered",
            _("A question of yours that had no answer was taken care of"),
        )
        DOCUMENT_FAILED = "document.failed", _("A document of yours could not be read")
        DOCUMENT_REPLACED = "document.replaced", _("Somebody replaced a document of yours")
        REQUEST_RECEIVED = "request.received", _("Somebody sends you a question to answer")
        REQUEST_ENDED = (
            "request.ended",
            _("A question that you sent to a person was answered or declined"),
        )
        RATINGS_APPLIED = "ratings.applied", _("Your ratings changed the order of sources")
        DOCUMENT_OVERDUE = "document.overdue", _("A document of yours is overdue for review")
        SOURCE_CHANGED = "source.changed", _("A document that an answer of yours cites has changed")

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications"
    )
    kind = models.CharField(max_length=20, choices=Kind)
    subject = models.CharField(max_length=36)
    count = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now)
    read_at = models.DateTimeField(null=True)
    email_pending = models.BooleanField(default=False)

    class Meta:
        ordering = ["-created_at", "-pk"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["user", "kind", "subject"], name="notification_once_per_subject"
            )
        ]
        indexes = [
            models.Index(fields=["user", "-created_at"], name="notification_of_user"),
            models.Index(
                fields=["user"], condition=models.Q(read_at=None), name="notification_unread"
            ),
            models.Index(
                fields=["user"], condition=models.Q(email_pending=True), name="notification_email"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}, {self.kind}: {self.subject}"


class NotificationPreference(models.Model):
    """Which kinds of notifications a person gets by e-mail, too, and in which language; without a row, none."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="notification_preference",
    )
    emailed = models.JSONField(default=list)
    language = models.CharField(max_length=10, blank=True)
    last_email_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.user_id}: {', '.join(self.emailed)}"


class OwnPrompt(models.Model):
    """A prompt that replaces the shipped one of the same name (`retrieval.engine.prompting`), in all processes."""

    name = models.CharField(
        max_length=100, unique=True, verbose_name=_("name")
    )  # with its language: rewrite.en
    text = models.TextField(max_length=20_000, verbose_name=_("text"))
    updated_at = models.DateTimeField(auto_now=True, verbose_name=_("updated at"))

    class Meta:
        verbose_name = _("prompt")
        verbose_name_plural = _("prompts")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
