"""How models' judgements have agreed with what staff and raters say."""

from __future__ import annotations

from django.db import models


class JudgeAgreement(models.Model):
    """Of one model: weighed counts of what it said (yes, no) against whether the documents held the answer.

    Each round writes them anew. The safe prior is no part of them (`retrieval.values.JudgeRecord`).
    """

    model = models.CharField(max_length=200, unique=True)
    yes_held = models.FloatField(default=0.0)
    no_held = models.FloatField(default=0.0)
    yes_absent = models.FloatField(default=0.0)
    no_absent = models.FloatField(default=0.0)
    golden = models.PositiveIntegerField(default=0, help_text="Judged golden questions among them.")
    ratings = models.PositiveIntegerField(default=0, help_text="Rated answers among them.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["model"]

    def __str__(self) -> str:
        return f"{self.model}: {self.golden} golden questions, {self.ratings} ratings"
