"""What the site's search is measured on, and what came of it, run by run."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ragsite.core.leases import Leased
from ragsite.models import SettingRevision

ALL_GOLDEN = "*"


class EvaluationSet(models.Model):
    """Questions that are measured together: golden ones, in the site's own collections, or an imported set (corpus,
    queries, judgements), in an index of its own.

    Of an imported set the files lie below `evaluation/` of the uploads; they never change.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    golden = models.CharField(
        max_length=100,
        null=True,  # "" are the golden questions in no set
        blank=True,
        help_text=_("A set of golden questions, * for all; none: it was imported."),
        verbose_name=_("golden set"),
    )
    name = models.CharField(max_length=100, blank=True, help_text=_("Of an imported set."), verbose_name=_("name"))
    documents = models.PositiveIntegerField(default=0, verbose_name=_("documents"))
    questions = models.PositiveIntegerField(
        default=0, help_text=_("With a document that answers them."), verbose_name=_("questions")
    )
    decided = models.PositiveIntegerField(
        default=0, help_text=_("Of an imported set: whose right decision is known."), verbose_name=_("decisions")
    )
    size_bytes = models.PositiveBigIntegerField(default=0, verbose_name=_("size in bytes"))
    stages: Any = models.JSONField(default=list, help_text=_("What is measured each night."), verbose_name=_("stages"))
    workflow = models.CharField(
        max_length=40, blank=True, help_text=_("That is asked each night; empty: none."), verbose_name=_("workflow")
    )
    limit = models.PositiveIntegerField(
        default=300,
        validators=[MinValueValidator(1), MaxValueValidator(2000)],
        help_text=_("At most so many questions, always the same ones."),
        verbose_name=_("limit"),
    )
    nightly = models.BooleanField(default=False, verbose_name=_("every night"))
    margin = models.FloatField(
        default=0.02,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
        help_text=_("A mean that falls by more than this, and not by chance, is worse; 0 to 1."),
        verbose_name=_("margin"),
    )
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+",
        verbose_name=_("made by"))  # fmt: skip
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))

    class Meta:
        verbose_name = _("evaluation set")
        verbose_name_plural = _("evaluation sets")
        ordering = ["created_at", "id"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["golden"], name="evaluation_golden_once"),
            models.UniqueConstraint(fields=["name"], condition=Q(golden=None), name="evaluation_name_once"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_imported(self) -> bool:
        return self.golden is None

    @property
    def title(self) -> str:
        """In the active language."""
        if self.golden is None:
            return self.name
        if self.golden == ALL_GOLDEN:
            return gettext("All golden questions")
        return self.golden or gettext("Golden questions in no set")


class EvaluationRun(Leased):
    """One measurement of a set, leased to the process that does it. Figures are there once it is complete.

    figures: stage → metrics 0..1 and ms. decisions: what the question is → what the workflow did → how often.
    fallbacks: stage → "step: reason" → how often. problems: stage → why it could not be measured. setup: what of the
    site may make a difference. done, total: questions by stages.

    worse: what fell against `baseline`, the last good run; a run where something did is not good, unless a person has
    accepted it.

    tried: a draft of settings that is measured beside the ones that were live then, in two runs; with_draft: which of
    the two. Such runs tell nothing of the site over time: they stand in no list of their set and ring no alarm.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        COMPLETE = "complete", _("Complete")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    class Trigger(models.TextChoices):
        NIGHT = "night", _("The night's round")
        PERSON = "person", _("A person")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    set = models.ForeignKey(
        EvaluationSet, on_delete=models.CASCADE, related_name="runs", verbose_name=_("evaluation set")
    )
    trigger = models.CharField(max_length=10, choices=Trigger, default=Trigger.PERSON, verbose_name=_("started by"))
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED, verbose_name=_("status"))
    stages: Any = models.JSONField(default=list, verbose_name=_("stages"))
    k = models.PositiveSmallIntegerField(default=10, verbose_name=_("cut-off"))
    workflow = models.CharField(max_length=40, blank=True, verbose_name=_("workflow"))
    limit = models.PositiveIntegerField(default=300, verbose_name=_("limit"))
    tried = models.ForeignKey(
        SettingRevision, null=True, blank=True, on_delete=models.CASCADE, related_name="+",
        verbose_name=_("draft of settings"),
    )  # fmt: skip
    with_draft = models.BooleanField(default=False, verbose_name=_("with the draft"))
    golden = models.CharField(
        max_length=100, null=True, blank=True,
        help_text=_("Where a draft is measured on one golden set."), verbose_name=_("golden set"),
    )  # fmt: skip
    attempts = models.PositiveSmallIntegerField(default=0, verbose_name=_("attempts without progress"))
    worked_s = models.FloatField(default=0.0, verbose_name=_("seconds worked"))
    activity: Any = models.JSONField(null=True, blank=True, editable=False, verbose_name=_("what it does"))
    done = models.PositiveIntegerField(default=0, verbose_name=_("done"))
    total = models.PositiveIntegerField(default=0, verbose_name=_("of all"))
    questions = models.PositiveIntegerField(default=0, verbose_name=_("questions ranked"))
    figures: Any = models.JSONField(default=dict, editable=False, verbose_name=_("figures"))
    decisions: Any = models.JSONField(default=dict, editable=False, verbose_name=_("decisions"))
    fallbacks: Any = models.JSONField(default=dict, editable=False, verbose_name=_("fallbacks"))
    problems: Any = models.JSONField(default=dict, editable=False, verbose_name=_("problems"))
    setup: Any = models.JSONField(default=dict, editable=False, verbose_name=_("setup"))
    error: Any = models.JSONField(null=True, blank=True, editable=False, verbose_name=_("error"))
    wordings: Any = models.JSONField(default=dict, editable=False, verbose_name=_("wordings"))
    baseline = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("compared with")
    )
    worse: Any = models.JSONField(default=list, editable=False, verbose_name=_("what got worse"))
    alarm = models.BooleanField(default=False, verbose_name=_("alarm"))
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+",
        verbose_name=_("acknowledged by"))  # fmt: skip
    acknowledged_at = models.DateTimeField(null=True, blank=True, verbose_name=_("acknowledged at"))
    accepted = models.BooleanField(
        default=False, help_text=_("Later runs are compared with it."), verbose_name=_("accepted")
    )
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+",
        verbose_name=_("made by"))  # fmt: skip
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    started_at = models.DateTimeField(null=True, blank=True, verbose_name=_("started at"))
    finished_at = models.DateTimeField(null=True, blank=True, verbose_name=_("finished at"))

    class Meta:
        verbose_name = _("evaluation run")
        verbose_name_plural = _("evaluation runs")
        ordering = ["-created_at", "id"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["set", "-created_at", "id"], name="evaluation_of_set"),
            models.Index(
                fields=["created_at", "id"], condition=Q(status__in=["queued", "running"]), name="evaluation_open"
            ),
            models.Index(fields=["tried"], condition=Q(tried__isnull=False), name="evaluation_of_draft"),
            models.Index(
                fields=["-created_at"], condition=Q(alarm=True, acknowledged_at=None), name="evaluation_alarm"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.set}, {self.created_at:%Y-%m-%d %H:%M}"


class EvaluationQuestion(models.Model):
    """A question as it was measured. key: of a golden one its id and a digest of its words and of what answers it, so
    that a question that was changed is not compared with what it was."""

    id = models.BigAutoField(primary_key=True)
    set = models.ForeignKey(
        EvaluationSet, on_delete=models.CASCADE, related_name="asked", verbose_name=_("evaluation set")
    )
    key = models.CharField(max_length=200, verbose_name=_("key"))
    text = models.CharField(max_length=500, verbose_name=_("text"))
    kind = models.CharField(max_length=12, blank=True, verbose_name=_("kind"))

    class Meta:
        verbose_name = _("measured question")
        verbose_name_plural = _("measured questions")
        ordering = ["id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["set", "key"], name="evaluation_question_once")]

    def __str__(self) -> str:
        return self.text[:80]


class EvaluationOutcome(models.Model):
    """What came of one question at one stage of a run. score: nDCG at the cut-off, of a decision 1 right, 0 wrong."""

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(EvaluationRun, on_delete=models.CASCADE, related_name="outcomes", verbose_name=_("run"))
    question = models.ForeignKey(
        EvaluationQuestion, on_delete=models.CASCADE, related_name="outcomes", verbose_name=_("question")
    )
    stage = models.CharField(max_length=12, verbose_name=_("stage"))
    score = models.FloatField(verbose_name=_("score"))
    metrics: Any = models.JSONField(default=dict, verbose_name=_("metrics"))
    first = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("Of the first relevant document, from 1."), verbose_name=_("place")
    )
    ms = models.FloatField(null=True, blank=True, verbose_name=_("milliseconds"))
    decision = models.CharField(max_length=12, blank=True, verbose_name=_("decision"))
    fallbacks: Any = models.JSONField(default=list, verbose_name=_("fallbacks"))

    class Meta:
        verbose_name = _("outcome")
        verbose_name_plural = _("outcomes")
        ordering = ["id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["run", "stage", "question"], name="evaluation_outcome_once")]

    def __str__(self) -> str:
        return f"{self.stage}: {self.score:.3f}"
