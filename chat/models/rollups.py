"""Counts of answers by day, so that the dashboard reads some thousand rows however many answers there are.

`chat.review.figures.rollups` makes a day's rows from answers, and again when one of the day's answers changes.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

ANY = "*"  # a row's workflow, model or language: all of them together


class RollupDay(models.Model):
    """A day that has answers. `stale`: one of them has changed since its rows were made. `closed`: conversations of it
    were deleted for their age, so that its rows can't be made again and stay as they are."""

    day = models.DateField(primary_key=True, verbose_name=_("day"))
    stale = models.BooleanField(default=True, db_index=True, verbose_name=_("stale"))
    made_at = models.DateTimeField(null=True, blank=True, verbose_name=_("made at"))
    closed = models.BooleanField(default=False, db_default=False, verbose_name=_("closed"))

    class Meta:
        verbose_name = _("day of the dashboard")
        verbose_name_plural = _("days of the dashboard")
        ordering = ["-day"]
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.day)


class AnswerRollup(models.Model):
    """The answers of one day that have workflow, model and language in common, or some of these where others are ANY.

    Each combination has its row, so that no figure adds up more rows than it shows.
    collection: of those that were asked of it or found something there; an answer may be in several of these rows.
    Without one: of all, each answer once.
    """

    day = models.DateField(verbose_name=_("day"))
    workflow = models.CharField(max_length=40, blank=True, verbose_name=_("workflow"))
    model = models.CharField(max_length=200, blank=True, verbose_name=_("model"))
    language = models.CharField(max_length=10, blank=True, verbose_name=_("language"))
    collection = models.ForeignKey(
        "retrieval.Collection", null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False,
        verbose_name=_("collection"),
    )  # fmt: skip
    answers = models.PositiveIntegerField(default=0, verbose_name=_("answers"))
    answered = models.PositiveIntegerField(default=0, verbose_name=_("answered"))
    clarified = models.PositiveIntegerField(default=0, verbose_name=_("asked back"))
    no_answer = models.PositiveIntegerField(default=0, verbose_name=_("no answer"))
    cut = models.PositiveIntegerField(default=0, verbose_name=_("cut"))
    weak = models.PositiveIntegerField(default=0, verbose_name=_("weakly grounded"))
    degraded = models.PositiveIntegerField(default=0, verbose_name=_("degraded"))
    slow = models.PositiveIntegerField(default=0, verbose_name=_("slow"))
    flagged = models.PositiveIntegerField(default=0, verbose_name=_("flagged"))
    rated = models.PositiveIntegerField(default=0, verbose_name=_("rated"))
    rated_good = models.PositiveIntegerField(default=0, verbose_name=_("well rated"))
    rated_bad = models.PositiveIntegerField(default=0, verbose_name=_("badly rated"))
    llm_calls = models.PositiveBigIntegerField(default=0, verbose_name=_("model calls"))
    llm_rounds = models.PositiveBigIntegerField(default=0, verbose_name=_("rounds"))
    prompt_tokens = models.PositiveBigIntegerField(default=0, verbose_name=_("tokens read"))
    completion_tokens = models.PositiveBigIntegerField(default=0, verbose_name=_("tokens written"))
    first_token_ms: Any = models.JSONField(
        default=dict, help_text=_("A sketch of the times: bucket to count."), verbose_name=_("first token ms")
    )
    total_ms: Any = models.JSONField(
        default=dict, help_text=_("A sketch of the times: bucket to count."), verbose_name=_("total ms")
    )

    class Meta:
        verbose_name = _("answers of a day")
        verbose_name_plural = _("answers of days")
        ordering = ["day", "id"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["collection", "language", "model", "workflow", "day"], name="rollup_parts_day"),
            models.Index(fields=["workflow", "model", "language", "day"], name="rollup_collections_day"),
            models.Index(fields=["day", "collection"], name="rollup_day_collection"),
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.answers}"


class DocumentRollup(models.Model):
    """How often a document was shown and cited on a day. `document_id`: it may be gone."""

    day = models.DateField(verbose_name=_("day"))
    document_id = models.UUIDField(verbose_name=_("document id"))
    shown = models.PositiveIntegerField(default=0, verbose_name=_("shown"))
    cited = models.PositiveIntegerField(default=0, verbose_name=_("cited"))

    class Meta:
        verbose_name = _("document of a day")
        verbose_name_plural = _("documents of days")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["day", "document_id"], name="rollup_document_once")]
        indexes = [models.Index(fields=["document_id", "day"], name="rollup_document_day")]

    def __str__(self) -> str:
        return f"{self.day}: {self.document_id}"


class AskerDay(models.Model):
    """That somebody asked on a day: users are counted from it, since counts of days can't be added."""

    day = models.DateField(verbose_name=_("day"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", verbose_name=_("user")
    )

    class Meta:
        verbose_name = _("user of a day")
        verbose_name_plural = _("users of days")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["day", "user"], name="rollup_asker_once")]

    def __str__(self) -> str:
        return f"{self.day}: {self.user_id}"
