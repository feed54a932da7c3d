"""Conversations: sessions, their messages, and how each answer came about."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from ragsite.core.leases import Leased


class Session(models.Model):
    """A user's conversation; deleted with the user, and with it its messages."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="chat_sessions", verbose_name=_("user")
    )
    title = models.CharField(max_length=200, blank=True, verbose_name=_("title"))
    workflow = models.CharField(max_length=40, blank=True, verbose_name=_("workflow"))
    collections = models.JSONField(
        default=list,
        blank=True,
        help_text=_("Names last asked in; empty: all that the user may read."),
        verbose_name=_("collections"),
    )
    pinned_at = models.DateTimeField(null=True, blank=True, verbose_name=_("pinned at"))
    archived_at = models.DateTimeField(null=True, blank=True, verbose_name=_("archived at"))
    folder = models.CharField(
        max_length=100, blank=True, help_text=_("Its user's own; empty: in none."), verbose_name=_("folder")
    )
    kept = models.BooleanField(
        default=True,
        help_text=_("Otherwise it is in no list, and is deleted minutes after its last answer."),
        verbose_name=_("kept"),
    )
    key = models.ForeignKey(
        "ragsite.ApiToken",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("The API key that it was begun with."),
        verbose_name=_("key"),
    )
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    updated_at = models.DateTimeField(auto_now=True, verbose_name=_("updated at"))

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")
        ordering = ["-updated_at"]
        indexes = [
            models.Index(fields=["user", "-updated_at"]),
            models.Index(fields=["updated_at", "id"], name="session_by_last_use"),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)


class Message(Leased):
    """An answer is leased to the run that writes it, until it is stored; the token is the run's id.

    Questions that follow the same one are versions of each other, and so are the answers of a question. One version of
    each is shown, the others are `superseded`: they are kept, with all that follows them.
    """

    class Role(models.TextChoices):
        USER = "user", _("User")
        ASSISTANT = "assistant", _("Assistant")

    class Status(models.TextChoices):
        STREAMING = "streaming", _("Streaming")
        COMPLETE = "complete", _("Complete")
        CUT = "cut", _("Cut")
        STOPPED = "stopped", _("Stopped")
        INTERRUPTED = "interrupted", _("Interrupted")
        FAILED = "failed", _("Failed")

    class Decision(models.TextChoices):
        ANSWER = "ANSWER", _("Answer")
        CLARIFY = "CLARIFY", _("Clarify")
        NO_ANSWER = "NO_ANSWER", _("No Answer")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages", verbose_name=_("session"))
    role = models.CharField(max_length=10, choices=Role, verbose_name=_("role"))
    reply_to = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="replies",
        help_text=_("An answer's question."),
        verbose_name=_("reply to"),
    )
    follows = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,  # a cascade would go down the whole conversation, question by question
        related_name="followed_by",
        help_text=_("Of a question: the one before it; empty for the first."),
        verbose_name=_("follows"),
    )
    text = models.TextField(blank=True, verbose_name=_("text"))
    status = models.CharField(max_length=12, choices=Status, default=Status.COMPLETE, verbose_name=_("status"))
    decision = models.CharField(max_length=10, choices=Decision, blank=True, verbose_name=_("decision"))
    reason = models.CharField(max_length=500, blank=True, verbose_name=_("reason"))
    workflow = models.CharField(max_length=40, blank=True, verbose_name=_("workflow"))
    model = models.CharField(max_length=200, blank=True, verbose_name=_("model"))
    clarification = models.JSONField(null=True, blank=True, verbose_name=_("clarification"))
    request = models.JSONField(
        default=dict, blank=True, help_text=_("Collections, filters and options asked with."), verbose_name=_("request")
    )
    usage = models.JSONField(default=dict, blank=True, verbose_name=_("usage"))
    degraded = models.JSONField(default=list, blank=True, verbose_name=_("degraded"))
    grounding = models.JSONField(
        null=True,
        blank=True,
        help_text=_("How well its sentences are borne out by sources."),
        verbose_name=_("grounding"),
    )
    curated = models.JSONField(
        null=True,
        blank=True,
        help_text=_("{id, by, on} of an answer that people had written and checked beforehand."),
        verbose_name=_("curated"),
    )
    error = models.JSONField(
        null=True, blank=True, help_text=_("{code, content} of a failed answer."), verbose_name=_("error")
    )
    wordings = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text=_("What the site's own sentences in it were made of."),
        verbose_name=_("wordings"),
    )
    superseded = models.BooleanField(
        default=False, help_text=_("Another version of it is shown in its place."), verbose_name=_("superseded")
    )
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    finished_at = models.DateTimeField(null=True, blank=True, verbose_name=_("finished at"))

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["session"], condition=Q(status="streaming"), name="one_answer_at_once_per_session"
            ),
        ]
        indexes = [
            models.Index(fields=["session", "created_at"]),
            models.Index(fields=["status", "lease_expires_at"]),
            models.Index(fields=["-created_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.get_role_display()}: {self.text[:60]}"


class Source(models.Model):
    """A passage given to the model for one answer, as it was then: later edits of the document don't change it.

    A result of a web search has no document; it has the address of its page, which the site never opens by itself.
    """

    class Kind(models.TextChoices):
        DOCUMENT = "document", _("Document")
        WEB = "web", _("Web")

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="sources", verbose_name=_("message"))
    marker = models.PositiveSmallIntegerField(verbose_name=_("marker"))
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.DOCUMENT, verbose_name=_("kind"))
    document_id = models.UUIDField(
        null=True, blank=True, db_index=True, help_text=_("Empty for a web page."), verbose_name=_("document id")
    )
    chunk_id = models.CharField(max_length=100, db_index=True, verbose_name=_("chunk id"))
    title = models.CharField(max_length=300, verbose_name=_("title"))
    page = models.PositiveIntegerField(null=True, blank=True, verbose_name=_("page"))
    heading = models.CharField(max_length=500, blank=True, verbose_name=_("heading"))
    file_name = models.CharField(max_length=300, blank=True, verbose_name=_("file name"))
    url = models.CharField(max_length=2000, blank=True, help_text=_("Of a web page."), verbose_name=_("url"))
    published = models.CharField(
        max_length=10, blank=True, help_text=_("Of a web page: YYYY-MM-DD, where known."), verbose_name=_("published")
    )
    text = models.TextField(verbose_name=_("text"))
    scores = models.JSONField(default=dict, verbose_name=_("scores"))
    cited = models.BooleanField(default=False, verbose_name=_("cited"))
    spans = models.JSONField(
        null=True,
        blank=True,
        help_text=_("Where the cited sentences stand; empty: not recorded."),
        verbose_name=_("spans"),
    )

    class Meta:
        verbose_name = _("source")
        verbose_name_plural = _("sources")
        ordering = ["message", "marker"]
        constraints = [
            models.UniqueConstraint(fields=["message", "marker"], name="source_marker_per_message"),
            models.CheckConstraint(
                condition=Q(kind="document", document_id__isnull=False) | Q(kind="web", document_id__isnull=True),
                name="source_has_document_unless_web",
            ),
        ]

    def __str__(self) -> str:
        return f"[{self.marker}] {self.title}"


class DecisionStep(models.Model):
    """One entry of an answer's decision path."""

    message = models.ForeignKey(
        Message, on_delete=models.CASCADE, related_name="decision_steps", verbose_name=_("message")
    )
    seq = models.PositiveSmallIntegerField(verbose_name=_("seq"))
    name = models.CharField(max_length=30, verbose_name=_("name"))
    status = models.CharField(max_length=10, verbose_name=_("status"))
    summary = models.CharField(max_length=500, blank=True, verbose_name=_("summary"))
    started_ms = models.PositiveIntegerField(default=0, verbose_name=_("started ms"))
    duration_ms = models.PositiveIntegerField(default=0, verbose_name=_("duration ms"))
    detail = models.JSONField(default=dict, blank=True, verbose_name=_("detail"))

    class Meta:
        verbose_name = _("decision step")
        verbose_name_plural = _("decision steps")
        ordering = ["message", "seq"]
        constraints = [models.UniqueConstraint(fields=["message", "seq"], name="step_seq_per_message")]

    def __str__(self) -> str:
        return f"{self.seq}. {self.name} ({self.status})"


class Share(models.Model):
    """A conversation that others may read as it was at a moment: what was shown then, and nothing that came later.

    A secret link's signature is made of its id (`chat.services.sharing`), so that the database alone opens none.
    """

    class Scope(models.TextChoices):
        SITE = "site", _("People of the site")
        LINK = "link", _("Whoever has the link")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="shares", verbose_name=_("session"))
    scope = models.CharField(max_length=4, choices=Scope, verbose_name=_("scope"))
    message_ids = models.JSONField(default=list, verbose_name=_("message ids"))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    expires_at = models.DateTimeField(null=True, blank=True, verbose_name=_("expires at"))

    class Meta:
        verbose_name = _("shared conversation")
        verbose_name_plural = _("shared conversations")
        ordering = ["-created_at"]
        constraints = [models.UniqueConstraint(fields=["session", "scope"], name="one_share_per_session_and_scope")]

    def __str__(self) -> str:
        return f"{self.session} ({self.scope})"
