"""What staff enter themselves: golden questions, boosts by hand, checked answers."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models import Message
from feedback.models.fields import InForce, who
from ragsite.core.localized import translate
from retrieval.models import Collection, Document


class GoldenQuestion(models.Model):
    """A question with what is right for it: the documents that answer it, that there is no answer, or that the site
    asks back. The guard measures a revision on those with documents.
    """

    class Expected(models.TextChoices):
        ANSWER = "ANSWER", _("An answer from these documents")
        CLARIFY = "CLARIFY", _("That it asks back")
        NO_ANSWER = "NO_ANSWER", _("That there is no answer")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    text = models.TextField(max_length=4000, verbose_name=_("text"))
    collection = models.ForeignKey(
        Collection,
        on_delete=models.CASCADE,
        related_name="golden_questions",
        verbose_name=_("collection"),
    )
    expects = models.CharField(
        max_length=10,
        choices=Expected,
        default=Expected.ANSWER,
        verbose_name=_("what is right for it"),
    )
    documents = models.ManyToManyField(
        Document,
        blank=True,
        related_name="golden_questions",
        verbose_name=_("documents that answer it"),
    )
    message = models.ForeignKey(  # the reviewed answer that it was made from
        Message,
        null=True,
        on_delete=models.SET_NULL,
        related_name="golden_questions",
        verbose_name=_("message"),
    )
    # Somebody's words, also once the answer has gone. None: of before this was kept, and taken for such.
    from_answer = models.BooleanField(_("made from an answer"), null=True)
    created_by = who(_("created by"))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    updated_at = models.DateTimeField(auto_now=True, verbose_name=_("updated at"))

    class Meta:
        verbose_name = _("test question")
        verbose_name_plural = _("test questions")
        ordering = ["-created_at", "pk"]

    def __str__(self) -> str:
        return self.text[:80]


class ManualBoost(InForce):
    """Lifts, lowers or hides a document or one chunk of it, whatever ratings say. It takes effect at once.

    question: for this one alone, and the same in nearly the same words; empty: for every question.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, related_name="manual_boosts", verbose_name=_("document")
    )
    chunk_id = models.UUIDField(null=True, verbose_name=_("chunk id"))  # None: the whole document
    multiplier = models.FloatField(default=1.0, verbose_name=_("multiplier"))
    hide = models.BooleanField(default=False, verbose_name=_("hide"))
    question = models.CharField(max_length=600, blank=True, default="", verbose_name=_("question"))
    why = models.CharField(max_length=500, verbose_name=_("why"))

    class Meta:
        verbose_name = _("manual rank change")
        verbose_name_plural = _("manual rank changes")
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(multiplier__gte=0.5, multiplier__lte=2.0),
                name="manual_boost_within_bounds",
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
        effect = translate("hidden") if self.hide else f"×{self.multiplier:g}"
        return f"{self.document.title[:60]}: {effect}"


class CuratedAnswer(InForce):
    """An answer that a curator has written and checked for a question, given to whoever asks nearly the same.

    It is in force until it is withdrawn or has expired, and given while each passage that it cites is as it was.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    question = models.CharField(max_length=600)
    wordings = models.JSONField(default=list, blank=True)  # other words for the same question
    text = models.TextField(max_length=20_000)
    message = models.ForeignKey(  # the reviewed answer that it was made from
        Message, null=True, blank=True, on_delete=models.SET_NULL, related_name="curated_answers"
    )
    # The question is in somebody's own words, which nobody has put otherwise. None: as for test questions.
    from_answer = models.BooleanField(_("in the words of who asked"), null=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-created_at"]
        default_permissions = ()

    def __str__(self) -> str:
        return self.question[:80]


class CuratedSource(models.Model):
    """A passage that a curated answer cites, as it was when that was checked."""

    answer = models.ForeignKey(CuratedAnswer, on_delete=models.CASCADE, related_name="sources")
    marker = models.PositiveSmallIntegerField()
    document_id = models.UUIDField()
    title = models.CharField(max_length=300)
    text = models.TextField()

    class Meta:
        ordering = ["answer", "marker"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["answer", "marker"], name="curated_marker_once")
        ]

    def __str__(self) -> str:
        return f"[{self.marker}] {self.title[:60]}"
