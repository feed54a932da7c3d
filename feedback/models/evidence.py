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
    """A question that was rated: one row for all who asked it in the same words.

    `signature` is made of the analysed terms in order, so case, punctuation, stop words and endings make no difference.
    """

    id = models.BigAutoField(primary_key=True)
    signature = models.CharField(max_length=32, unique=True, verbose_name=_("signature"))
    text = models.TextField(help_text=_("As it was put first."), verbose_name=_("text"))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    compared = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_("Whether it was compared with those before it (QuestionPair)."),
        verbose_name=_("compared"),
    )

    embedding_model = models.CharField(max_length=200, blank=True, verbose_name=_("embedding model"))
    embedding_dim = models.PositiveIntegerField(null=True, blank=True, verbose_name=_("embedding dim"))
    vector = models.BinaryField(
        default=bytes, help_text="`dim` little-endian float16 numbers of a unit vector; empty: not embedded."
    )

    class Meta:
        verbose_name = _("rated question")
        verbose_name_plural = _("rated questions")
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.text[:80]


class RatedPassage(models.Model):
    """A chunk by what it says. Chunk ids follow a chunk's place, so a document that is read anew may give a passage
    another id; a round then finds it by its text, and evidence on a text that is gone is left out."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, related_name="rated_passages", verbose_name=_("document")
    )
    content_hash = models.CharField(
        max_length=32, help_text=_("Of the text without white space."), verbose_name=_("content hash")
    )
    chunk_id = models.UUIDField(
        null=True,
        blank=True,
        db_index=True,
        help_text=_("Where it was found last; empty: its text is gone."),
        verbose_name=_("chunk id"),
    )

    class Meta:
        verbose_name = _("rated passage")
        verbose_name_plural = _("rated passages")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["document", "content_hash"], name="rated_passage_text_per_document")
        ]

    def __str__(self) -> str:
        return f"{self.document_id}:{self.content_hash[:8]}"


class Evidence(models.Model):
    """What one rating says of one passage. It goes with it, its voter or its document.

    weight: -1..1, for this question; document_weight: -1..1, for the document whatever is asked. day: of the rating,
    days since 1970-01-01.
    """

    id = models.BigAutoField(primary_key=True)
    rating = models.ForeignKey(Rating, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("rating"))
    question = models.ForeignKey(
        RatedQuestion, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("question")
    )
    passage = models.ForeignKey(
        RatedPassage, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("passage")
    )
    voter = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="evidence", verbose_name=_("voter")
    )
    weight = models.FloatField(verbose_name=_("weight"))
    document_weight = models.FloatField(verbose_name=_("document weight"))
    day = models.PositiveIntegerField(verbose_name=_("day"))

    class Meta:
        verbose_name = _("vote")
        verbose_name_plural = _("evidence")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["rating", "passage"], name="evidence_once_per_rating_and_passage"),
            models.CheckConstraint(
                condition=Q(weight__gte=-1, weight__lte=1, document_weight__gte=-1, document_weight__lte=1),
                name="evidence_weights_within_1",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.weight:+.2f}: {self.question}"


class QuestionPair(models.Model):
    """Whether two rated questions want the same answer, as a chat model said, once. A pair without a row was not asked
    about. decided_by: the model."""

    id = models.BigAutoField(primary_key=True)
    first = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="+", verbose_name=_("first"))
    second = models.ForeignKey(RatedQuestion, on_delete=models.CASCADE, related_name="+", verbose_name=_("second"))
    same = models.BooleanField(verbose_name=_("same"))
    decided_by = models.CharField(max_length=200, verbose_name=_("decided by"))
    decided_at = models.DateTimeField(auto_now=True, verbose_name=_("decided at"))

    class Meta:
        verbose_name = _("question pair")
        verbose_name_plural = _("question pairs")
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="question_pair_once"),
            models.CheckConstraint(condition=Q(first__lt=models.F("second")), name="question_pair_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id}, {self.second_id}: {self.same}"
