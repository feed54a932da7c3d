"""Conversations: sessions, their messages, and how each answer came about."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from ragsite.core.leases import Leased
from retrieval.knowledge.lookups import TrigramIndex


class Session(models.Model):
    """A user's conversation; deleted with the user, and with it its messages."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="chat_sessions",
        verbose_name=_("user"),
    )
    title = models.CharField(max_length=200, blank=True, verbose_name=_("title"))
    workflow = models.CharField(max_length=40, blank=True, verbose_name=_("workflow"))
    collections = models.JSONField(
        default=list, blank=True, verbose_name=_("collections")
    )  # asked in last
    assistant = models.JSONField(default=dict, blank=True)  # {id, name} of the one asked by last
    pinned_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    folder = models.CharField(max_length=100, blank=True)  # empty: in none
    kept = models.BooleanField(
        default=True
    )  # else in no list, at no desk, and deleted minutes after its last answer
    expires_at = models.DateTimeField(
        null=True, blank=True
    )  # of a temporary one, not kept: its owner reads it until then, and it is deleted
    key = models.ForeignKey(
        "ragsite.ApiToken", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
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
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False),
                name="session_by_expiry",
            ),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)

    @property
    def is_temporary(self) -> bool:
        return self.expires_at is not None


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

    class Support(models.TextChoices):
        """What a second look says of an answer."""

        FULL = "full", _("Confirmed")
        PARTLY = "partly", _("Partly confirmed")
        NONE = "none", _("Not confirmed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(
        Session, on_delete=models.CASCADE, related_name="messages", verbose_name=_("session")
    )
    role = models.CharField(max_length=10, choices=Role, verbose_name=_("role"))
    reply_to = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="replies"
    )
    follows = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,  # a cascade would go down the whole conversation, question by question
        related_name="followed_by",
    )
    text = models.TextField(blank=True, verbose_name=_("text"))
    status = models.CharField(
        max_length=12, choices=Status, default=Status.COMPLETE, verbose_name=_("status")
    )
    decision = models.CharField(
        max_length=10, choices=Decision, blank=True, verbose_name=_("decision")
    )
    reason = models.CharField(max_length=500, blank=True)
    workflow = models.CharField(max_length=40, blank=True, verbose_name=_("workflow"))
    model = models.CharField(max_length=200, blank=True, verbose_name=_("model"))
    clarification = models.JSONField(null=True, blank=True)
    searched_for = models.TextField(
        blank=True, editable=False
    )  # its question, as the first search had it
    request = models.JSONField(default=dict, blank=True)  # how it was asked: `RequestSerializer`
    usage = models.JSONField(default=dict, blank=True)
    degraded = models.JSONField(default=list, blank=True)
    grounding = models.JSONField(null=True, blank=True)
    support = models.CharField(
        max_length=6, choices=Support, blank=True, verbose_name=_("second look")
    )
    curated = models.JSONField(null=True, blank=True)  # {id, by, on} of a checked answer
    follow_ups = models.JSONField(default=list, blank=True)  # questions that are offered below it
    written_by = models.JSONField(null=True, blank=True)  # {by, on}: a person wrote it on request
    error = models.JSONField(null=True, blank=True)
    wordings = models.JSONField(
        default=dict, blank=True, editable=False
    )  # what the site's own sentences were made of
    superseded = models.BooleanField(default=False, verbose_name=_("superseded"))
    being_read = models.PositiveIntegerField(
        default=0
    )  # documents that its search did not look into yet
    # Documents that its search could look into, attached ones that were still being read included. None: not known.
    in_scope = models.PositiveIntegerField(null=True, editable=False)
    taken_over = models.PositiveSmallIntegerField(
        default=0, editable=False
    )  # times that its process had died
    # A document that it cites was replaced, or reads otherwise, since; the asker was notified then.
    source_changed_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    finished_at = models.DateTimeField(null=True, blank=True, verbose_name=_("finished at"))

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["session"],
                condition=Q(status="streaming"),
                name="one_answer_at_once_per_session",
            ),
        ]
        indexes = [
            models.Index(fields=["session", "created_at"]),
            models.Index(fields=["status", "lease_expires_at"]),
            models.Index(fields=["-created_at"]),
            TrigramIndex(fields=["text"], name="message_text_trigrams"),
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

    # Stored while the message's row is locked, a dozen at once: the database need not look it up for each of them.
    message = models.ForeignKey(
        Message, on_delete=models.CASCADE, related_name="sources", db_constraint=False
    )
    marker = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.DOCUMENT)
    document_id = models.UUIDField(null=True, blank=True, db_index=True)
    chunk_id = models.CharField(max_length=100, db_index=True)
    title = models.CharField(max_length=300)
    page = models.PositiveIntegerField(null=True, blank=True)
    heading = models.CharField(max_length=500, blank=True)
    file_name = models.CharField(max_length=300, blank=True)
    url = models.CharField(max_length=2000, blank=True)
    published = models.CharField(
        max_length=10, blank=True
    )  # of a web page: YYYY-MM-DD, where known
    text = models.TextField()
    scores = models.JSONField(default=dict)
    cited = models.BooleanField(default=False)
    spans = models.JSONField(null=True, blank=True)

    class Meta:
        verbose_name = _("source")
        verbose_name_plural = _("sources")
        ordering = ["message", "marker"]
        constraints = [
            models.UniqueConstraint(fields=["message", "marker"], name="source_marker_per_message"),
            models.CheckConstraint(
                condition=Q(kind="document", document_id__isnull=False)
                | Q(kind="web", document_id__isnull=True),
                name="source_has_document_unless_web",
            ),
        ]

    def __str__(self) -> str:
        return f"[{self.marker}] {self.title}"


class DecisionStep(models.Model):
    """One entry of an answer's decision path."""

    # As a source's.
    message = models.ForeignKey(
        Message, on_delete=models.CASCADE, related_name="decision_steps", db_constraint=False
    )
    seq = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=30)
    status = models.CharField(max_length=10)
    summary = models.CharField(max_length=500, blank=True)
    started_ms = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(default=0)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name = _("decision step")
        verbose_name_plural = _("decision steps")
        ordering = ["message", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["message", "seq"], name="step_seq_per_message")
        ]

    def __str__(self) -> str:
        return f"{self.seq}. {self.name} ({self.status})"


class Share(models.Model):
    """A conversation that others may read as it was at a moment: what was shown then, and nothing that came later.

    A secret link's signature is made of its id (`chat.services.sharing`), so that the database alone opens none.
    """

    class Scope(models.TextChoices):
        SITE = "site", _("People on this site")
        LINK = "link", _("Whoever has the link")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="shares")
    scope = models.CharField(max_length=4, choices=Scope)
    message_ids = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("shared conversation")
        verbose_name_plural = _("shared conversations")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["session", "scope"], name="one_share_per_session_and_scope"
            )
        ]

    def __str__(self) -> str:
        return f"{self.session} ({self.scope})"
