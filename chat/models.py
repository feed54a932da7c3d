"""Conversations: sessions, their messages, and how each answer came about."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from ragsite.core.leases import Leased


class Session(models.Model):
    """A user's conversation; deleted with the user, and with it its messages."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="chat_sessions")
    title = models.CharField(max_length=200, blank=True)
    workflow = models.CharField(max_length=40, blank=True)
    collections = models.JSONField(
        default=list, blank=True, help_text="Names last asked in; empty: all that the user may read."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-updated_at"]
        indexes = [models.Index(fields=["user", "-updated_at"])]

    def __str__(self) -> str:
        return self.title or str(self.id)


class Message(Leased):
    """An answer is leased to the run that writes it, until it is stored; the token is the run's id."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    class Status(models.TextChoices):
        STREAMING = "streaming"
        COMPLETE = "complete"
        STOPPED = "stopped"
        INTERRUPTED = "interrupted"
        FAILED = "failed"

    class Decision(models.TextChoices):
        ANSWER = "ANSWER"
        CLARIFY = "CLARIFY"
        NO_ANSWER = "NO_ANSWER"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages")
    role = models.CharField(max_length=10, choices=Role)
    reply_to = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="replies",
        help_text="An answer's question.",
    )
    text = models.TextField(blank=True)
    status = models.CharField(max_length=12, choices=Status, default=Status.COMPLETE)
    decision = models.CharField(max_length=10, choices=Decision, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    workflow = models.CharField(max_length=40, blank=True)
    model = models.CharField(max_length=200, blank=True)
    clarification = models.JSONField(null=True, blank=True)
    request = models.JSONField(default=dict, blank=True, help_text="Collections, filters and options asked with.")
    usage = models.JSONField(default=dict, blank=True)
    degraded = models.JSONField(default=list, blank=True)
    grounding = models.JSONField(null=True, blank=True, help_text="How well its sentences are borne out by sources.")
    error = models.JSONField(null=True, blank=True, help_text="{code, content} of a failed answer.")
    wordings = models.JSONField(
        default=dict, blank=True, editable=False, help_text="What the site's own sentences in it were made of."
    )
    superseded = models.BooleanField(default=False, help_text="A regenerated answer took its place.")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
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
        return f"{self.role}: {self.text[:60]}"


class Source(models.Model):
    """A passage given to the model for one answer, as it was then: later edits of the document don't change it.

    A result of a web search has no document; it has the address of its page, which the site never opens by itself.
    """

    class Kind(models.TextChoices):
        DOCUMENT = "document"
        WEB = "web"

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="sources")
    marker = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.DOCUMENT)
    document_id = models.UUIDField(null=True, blank=True, db_index=True, help_text="Empty for a web page.")
    chunk_id = models.CharField(max_length=100, db_index=True)
    title = models.CharField(max_length=300)
    page = models.PositiveIntegerField(null=True, blank=True)
    heading = models.CharField(max_length=500, blank=True)
    file_name = models.CharField(max_length=300, blank=True)
    url = models.CharField(max_length=2000, blank=True, help_text="Of a web page.")
    published = models.CharField(max_length=10, blank=True, help_text="Of a web page: YYYY-MM-DD, where known.")
    text = models.TextField()
    scores = models.JSONField(default=dict)
    cited = models.BooleanField(default=False)

    class Meta:
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

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="decision_steps")
    seq = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=30)
    status = models.CharField(max_length=10)
    summary = models.CharField(max_length=500, blank=True)
    started_ms = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(default=0)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["message", "seq"]
        constraints = [models.UniqueConstraint(fields=["message", "seq"], name="step_seq_per_message")]

    def __str__(self) -> str:
        return f"{self.seq}. {self.name} ({self.status})"
