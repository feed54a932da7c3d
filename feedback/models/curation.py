"""What staff enter themselves: golden questions, and boosts by hand."""

from __future__ import annotations

import uuid

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models import Message
from feedback.models.fields import InForce, who
from ragsite.core.localized import said
from retrieval.models import Collection, Document


class GoldenQuestion(models.Model):
    """A question with what is right for it: relevant documents or chunks, or that there is no answer, or that the site
    asks back. The guard measures a revision on those with relevant ones.
    """

    class Expected(models.TextChoices):
        ANSWER = "ANSWER", _("An answer from these documents")
        CLARIFY = "CLARIFY", _("That it asks back")
        NO_ANSWER = "NO_ANSWER", _("That there is no answer")

    class Origin(models.TextChoices):
        REVIEWED = "reviewed", _("A reviewed conversation")
        IMPORTED = "imported", _("An import")
        MANUAL = "manual", _("Entered by hand")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    text = models.TextField(max_length=4000, verbose_name=_("text"))
    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="golden_questions", verbose_name=_("collection")
    )
    set_name = models.CharField(
        max_length=100,
        blank=True,
        help_text=_("Questions that are switched, exported and looked at together."),
        verbose_name=_("set"),
    )
    expects = models.CharField(
        max_length=10, choices=Expected, default=Expected.ANSWER, verbose_name=_("what is right for it")
    )
    source = models.CharField(max_length=10, choices=Origin, default=Origin.MANUAL, verbose_name=_("source"))
    message = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.SET_NULL, related_name="golden_questions",
        help_text=_("The reviewed answer that it was made from."), verbose_name=_("message"))  # fmt: skip
    enabled = models.BooleanField(default=True, verbose_name=_("enabled"))
    created_by = who(_("created by"))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    updated_at = models.DateTimeField(auto_now=True, verbose_name=_("updated at"))

    class Meta:
        verbose_name = _("golden question")
        verbose_name_plural = _("golden questions")
        ordering = ["-created_at", "pk"]
        indexes = [models.Index(fields=["enabled", "collection"]), models.Index(fields=["set_name"])]

    def __str__(self) -> str:
        return self.text[:80]


class GoldenRelevance(models.Model):
    """What is relevant to a golden question: a document, or, with `chunk_id`, one chunk of it. grade: 1 partly … 3
    fully."""

    class Grade(models.IntegerChoices):
        PARTLY = 1, _("1, partly")
        MOSTLY = 2, _("2, mostly")
        FULLY = 3, _("3, fully")

    id = models.BigAutoField(primary_key=True)
    question = models.ForeignKey(
        GoldenQuestion, on_delete=models.CASCADE, related_name="relevant", verbose_name=_("question")
    )
    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, related_name="golden_relevances", verbose_name=_("document")
    )
    chunk_id = models.UUIDField(
        null=True,
        blank=True,
        help_text=_("The id of one chunk; empty: all of it."),
        verbose_name=_("chunk"),
    )
    grade = models.PositiveSmallIntegerField(choices=Grade, default=Grade.PARTLY, verbose_name=_("grade"))

    class Meta:
        verbose_name = _("relevant document")
        verbose_name_plural = _("relevant documents")
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


class ManualBoost(InForce):
    """Lifts, lowers or hides a document or one chunk of it, whatever ratings say. It takes effect at once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, related_name="manual_boosts", verbose_name=_("document")
    )
    chunk_id = models.UUIDField(
        null=True, blank=True, help_text=_("Empty: the whole document."), verbose_name=_("chunk id")
    )
    multiplier = models.FloatField(
        default=1.0, validators=[MinValueValidator(0.5), MaxValueValidator(2.0)], verbose_name=_("multiplier")
    )
    hide = models.BooleanField(default=False, help_text=_("Never shown as a source."), verbose_name=_("hide"))
    question = models.CharField(
        max_length=600, blank=True, default="",
        help_text=_("For this question alone, and the same in nearly the same words; empty: for every question."),
        verbose_name=_("question"),
    )  # fmt: skip
    why = models.CharField(max_length=500, verbose_name=_("why"))

    class Meta:
        verbose_name = _("manual boost")
        verbose_name_plural = _("manual boosts")
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(multiplier__gte=0.5, multiplier__lte=2.0), name="manual_boost_within_bounds"
            ),
            models.UniqueConstraint(
                fields=["document", "question"],
                condition=Q(ended_at=None, chunk_id=None),
                name="one_manual_boost_per_document",
            ),
            models.UniqueConstraint(
                fields=["chunk_id", "question"],
                condition=Q(ended_at=None, chunk_id__isnull=False),
                name="one_manual_boost_per_chunk",
            ),
        ]

    def __str__(self) -> str:
        effect = said("hidden") if self.hide else f"×{self.multiplier:g}"
        return f"{self.document.title[:60]}: {effect}"


class CuratedAnswer(InForce):
    """An answer that a curator has written and checked for a question, given to whoever asks nearly the same.

    It is in force until it is withdrawn, by a person or because a passage that it cites has changed, or has expired.
    """

    class End(models.TextChoices):
        BY_PERSON = "person", _("Withdrawn by a person")
        SOURCE_CHANGED = "source_changed", _("A passage that it cites has changed")
        SOURCE_GONE = "source_gone", _("A document that it cites was deleted")
        REPLACED = "replaced", _("A newer one took its place")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    question = models.CharField(max_length=600, verbose_name=_("question"))
    wordings = models.JSONField(
        default=list, blank=True, help_text=_("Other words for the same question."), verbose_name=_("wordings")
    )
    text = models.TextField(max_length=20_000, verbose_name=_("text"))
    message = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.SET_NULL, related_name="curated_answers",
        help_text=_("The reviewed answer that it was made from."), verbose_name=_("message"))  # fmt: skip
    end = models.CharField(max_length=20, choices=End, blank=True, verbose_name=_("why it ended"))

    class Meta:
        verbose_name = _("curated answer")
        verbose_name_plural = _("curated answers")
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["ended_at", "-created_at"])]

    def __str__(self) -> str:
        return self.question[:80]


class CuratedSource(models.Model):
    """A passage that a curated answer cites, as it was when that was checked."""

    id = models.BigAutoField(primary_key=True)
    answer = models.ForeignKey(
        CuratedAnswer, on_delete=models.CASCADE, related_name="sources", verbose_name=_("curated answer")
    )
    marker = models.PositiveSmallIntegerField(verbose_name=_("marker"))
    document_id = models.UUIDField(db_index=True, verbose_name=_("document id"))
    chunk_id = models.UUIDField(verbose_name=_("chunk id"))
    title = models.CharField(max_length=300, verbose_name=_("title"))
    text = models.TextField(verbose_name=_("text"))

    class Meta:
        verbose_name = _("source of a curated answer")
        verbose_name_plural = _("sources of curated answers")
        ordering = ["answer", "marker"]
        constraints = [models.UniqueConstraint(fields=["answer", "marker"], name="curated_marker_once")]

    def __str__(self) -> str:
        return f"[{self.marker}] {self.title[:60]}"
