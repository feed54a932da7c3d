"""Evidence: what ratings say for or against passages.

There may be hundreds of thousands of rows, and every round reads them all: they have whole-number keys.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from feedback.models.ratings import Rating
from retrieval.models import Document


class RatedQuestion(models.Model):
    """A question that was rated: one row for all who asked it in the same words (`signature`: case, punctuation and the
    Chinese script make no difference).

    compared: whether it was compared with those before it (QuestionPair). vector: little-endian float16 numbers of a
    unit vector; empty: not embedded.
    """

    id = models.BigAutoField(primary_key=True)
    signature = models.CharField(max_length=32, unique=True)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    compared = models.BooleanField(default=False, db_default=False)
    embedding_model = models.CharField(max_length=200, blank=True)
    embedding_dim = models.PositiveIntegerField(null=True)
    vector = models.BinaryField(default=bytes)

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return self.text[:80]


class RatedPassage(models.Model):
    """A chunk by what it says: content_hash is of its text without white space. Chunk ids follow a chunk's place, so a
    document that is read again may give a passage another id; it is found again by its text, and evidence on a text
    that is gone (chunk_id: None) is left out."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="rated_passages")
    content_hash = models.CharField(max_length=32)
    chunk_id = models.UUIDField(null=True, db_index=True)

    class Meta:
        ordering = ["pk"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["document", "content_hash"], name="rated_passage_text_per_document"
            )
        ]

    def __str__(self) -> str:
        return f"{self.document_id}:{self.content_hash[:8]}"


class Evidence(models.Model):
    """What one rating says of one passage. It goes with it, its voter or its document.

    weight: -1..1, for this question; document_weight: -1..1, for the document whatever is asked. day: of the rating,
    days since 1970-01-01.
    """

    id = models.BigAutoField(primary_key=True)
    rating = models.ForeignKey(
        Rating, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("rating")
    )
    question = models.ForeignKey(
        RatedQuestion, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("question")
    )
    passage = models.ForeignKey(
        RatedPassage, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("passage")
    )
    voter = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="evidence",
        verbose_name=_("voter"),
    )
    weight = models.FloatField(verbose_name=_("weight"))
    document_weight = models.FloatField(verbose_name=_("document weight"))
    day = models.PositiveIntegerField(verbose_name=_("day"))

    class Meta:
        verbose_name = _("vote")
        verbose_name_plural = _("evidence")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["rating", "passage"], name="evidence_once_per_rating_and_passage"
            ),
            models.CheckConstraint(
                condition=Q(
                    weight__gte=-1, weight__lte=1, document_weight__gte=-1, document_weight__lte=1
                ),
                name="evidence_weights_within_1",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.weight:+.2f}: {self.question}"


class QuestionPair(models.Model):
    """Whether two rated questions want the same answer, as a chat model said, once. A pair without a row was not asked
    about. decided_by: the model."""

    id = models.BigAutoField(primary_key=True)
    first = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="+")
    same = models.BooleanField()
    decided_by = models.CharField(max_length=200)
    decided_at = models.DateTimeField(auto_now=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="question_pair_once"),
            models.CheckConstraint(
                condition=Q(first__lt=models.F("second")), name="question_pair_in_order"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.first_id}, {self.second_id}: {self.same}"
