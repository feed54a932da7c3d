"""How models' judgements have agreed with what is known: of probes, and by staff and raters."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class JudgeAgreement(models.Model):
    """Of one model: weighed counts of what it said (yes, no) against whether the documents held the answer.

    Each round writes them anew. The safe prior is no part of them (`retrieval.values.JudgeRecord`).
    """

    model = models.CharField(max_length=200, unique=True, verbose_name=_("model"))
    yes_held = models.FloatField(default=0.0, verbose_name=_("yes held"))
    no_held = models.FloatField(default=0.0, verbose_name=_("no held"))
    yes_absent = models.FloatField(default=0.0, verbose_name=_("yes absent"))
    no_absent = models.FloatField(default=0.0, verbose_name=_("no absent"))
    golden = models.PositiveIntegerField(
        default=0, help_text=_("Judged golden questions among them."), verbose_name=_("golden")
    )
    ratings = models.PositiveIntegerField(
        default=0, help_text=_("Rated answers among them."), verbose_name=_("ratings")
    )
    probes = models.PositiveIntegerField(default=0, help_text=_("Known cases among them."), verbose_name=_("probes"))
    updated_at = models.DateTimeField(auto_now=True, verbose_name=_("updated at"))

    class Meta:
        verbose_name = _("judge agreement")
        verbose_name_plural = _("judge agreements")
        ordering = ["model"]

    def __str__(self) -> str:
        return f"{self.model}: {self.golden}, {self.ratings}, {self.probes}"


class JudgeProbe(models.Model):
    """What one model said of one known case (`retrieval.steps.judge.probes`). form: of what it was asked by. said:
    None where its reply was no judgement."""

    model = models.CharField(max_length=200, verbose_name=_("model"))
    number = models.PositiveSmallIntegerField(verbose_name=_("number"))
    form = models.CharField(max_length=16, verbose_name=_("form"))
    held = models.BooleanField(verbose_name=_("held"))
    said = models.BooleanField(null=True, verbose_name=_("said"))
    at = models.DateTimeField(verbose_name=_("at"))

    class Meta:
        verbose_name = _("judge probe")
        verbose_name_plural = _("judge probes")
        ordering = ["model", "number"]
        constraints = [models.UniqueConstraint(fields=["model", "number"], name="feedback_probe_once")]

    def __str__(self) -> str:
        return f"{self.model}: {self.number}"
