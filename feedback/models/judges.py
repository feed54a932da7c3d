"""How models' judgements have agreed with what staff and raters say."""

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
    updated_at = models.DateTimeField(auto_now=True, verbose_name=_("updated at"))

    class Meta:
        verbose_name = _("judge agreement")
        verbose_name_plural = _("judge agreements")
        ordering = ["model"]

    def __str__(self) -> str:
        return f"{self.model}: {self.golden}, {self.ratings}"
