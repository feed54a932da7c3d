"""What staff enter themselves: golden questions, and boosts by hand."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from chat.models import Message
from retrieval.models import Collection, Document


class GoldenQuestion(models.Model):
    """A question with its relevant documents or chunks: what the guard measures a revision on."""

    class Origin(models.TextChoices):
        REVIEWED = "reviewed", "A reviewed conversation"
        IMPORTED = "imported", "An import"
        MANUAL = "manual", "Entered by hand"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    text = models.TextField(max_length=4000)
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="golden_questions")
    set_name = models.CharField(
        "set", max_length=100, blank=True, help_text="Questions that are switched, exported and looked at together."
    )
    source = models.CharField(max_length=10, choices=Origin, default=Origin.MANUAL)
    message = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.SET_NULL, related_name="golden_questions",
        help_text="The reviewed answer that it was made from.",
    )  # fmt: skip
    enabled = models.BooleanField(default=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-created_at", "pk"]
        indexes = [models.Index(fields=["enabled", "collection"]), models.Index(fields=["set_name"])]

    def __str__(self) -> str:
        return self.text[:80]


class GoldenRelevance(models.Model):
    """What is relevant to a golden question: a document, or, with `chunk_id`, one chunk of it. grade: 1 partly … 3
    fully."""

    class Grade(models.IntegerChoices):
        PARTLY = 1, "1, partly"
        MOSTLY = 2, "2, mostly"
        FULLY = 3, "3, fully"

    id = models.BigAutoField(primary_key=True)
    question = models.ForeignKey(GoldenQuestion, on_delete=models.CASCADE, related_name="relevant")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="golden_relevances")
    chunk_id = models.UUIDField("chunk", null=True, blank=True, help_text="The id of one chunk; empty: all of it.")
    grade = models.PositiveSmallIntegerField(choices=Grade, default=Grade.PARTLY)

    class Meta:
        verbose_name = "relevant document"
        verbose_name_plural = "relevant documents"
        ordering = ["-grade", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["question", "document"], condition=Q(chunk_id=None), name="golden_document_once"
            ),
            models.UniqueConstraint(
                fields=["question", "chunk_id"], condition=Q(chunk_id__isnull=False), name="golden_chunk_once"
            ),
            models.CheckConstraint(condition=Q(grade__gte=1, grade__lte=3), name="golden_grade_1_to_3"),
        ]

    def __str__(self) -> str:
        return f"{self.document.title[:60]}: {self.get_grade_display()}"


class ManualBoost(models.Model):
    """Lifts, lowers or hides a document or one chunk of it, whatever ratings say. It takes effect at once.

    A row is never changed but to end it: the next one replaces it, so that what was in force when stays known.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="manual_boosts")
    chunk_id = models.UUIDField(null=True, blank=True, help_text="Empty: the whole document.")
    multiplier = models.FloatField(default=1.0, validators=[MinValueValidator(0.5), MaxValueValidator(2.0)])
    hide = models.BooleanField(default=False, help_text="Never shown as a source.")
    why = models.CharField(max_length=500)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(multiplier__gte=0.5, multiplier__lte=2.0), name="manual_boost_within_bounds"
            ),
            models.UniqueConstraint(
                fields=["document"], condition=Q(ended_at=None, chunk_id=None), name="one_manual_boost_per_document"
            ),
            models.UniqueConstraint(
                fields=["chunk_id"],
                condition=Q(ended_at=None, chunk_id__isnull=False),
                name="one_manual_boost_per_chunk",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.document.title[:60]}: {'hidden' if self.hide else f'×{self.multiplier:g}'}"
