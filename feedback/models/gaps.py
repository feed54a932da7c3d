"""Knowledge gaps: what people asked and the documents did not answer, as to-dos."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models import Message, Replay
from feedback.models.fields import who
from retrieval.models import Collection, Document


class KnowledgeGap(models.Model):
    """Questions on one subject. It is known by its first one: others that are near it join. Users' words stand in their
    conversations alone, and go with them.

    terms, vector: of the first question; dim little-endian float16 numbers of a unit vector, empty: none. reopened:
    it was closed, and people were not answered again.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        CLOSED = "closed", _("Closed")

    collection = models.ForeignKey(  # None: more than one was searched
        Collection, null=True, on_delete=models.SET_NULL, related_name="knowledge_gaps"
    )
    terms = models.TextField(blank=True)
    vector = models.BinaryField(default=bytes)
    vector_model = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    state_by = who(_("state set by"))
    state_at = models.DateTimeField(default=timezone.now)
    reopened = models.BooleanField(default=False)
    assignee = who(_("assignee"))
    note = models.TextField(blank=True, max_length=4000)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.pk}: {self.state}"


class GapQuestion(models.Model):
    """An answer that did not answer, in a gap. key: the same for the same words.

    answered: whether it was, when it was last asked again; None: it was not asked again.
    """

    id = models.BigAutoField(primary_key=True)
    gap = models.ForeignKey(KnowledgeGap, on_delete=models.CASCADE, related_name="questions")
    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=32)
    answered = models.BooleanField(null=True)
    replay = models.ForeignKey(Replay, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["-message__created_at", "-id"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.gap_id}: {self.key}"


class GapDocument(models.Model):
    """A document that was added for a gap. asked: whether the gap's questions were asked again since it is ready.
    problem: {text, wording} of why they could not be, though it is ready."""

    id = models.BigAutoField(primary_key=True)
    gap = models.ForeignKey(KnowledgeGap, on_delete=models.CASCADE, related_name="documents")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked = models.BooleanField(default=False)
    problem: Any = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["gap", "document"], name="gap_document_once")
        ]

    def __str__(self) -> str:
        return f"{self.gap_id}: {self.document_id}"
