"""Ratings of answers and of single sources."""

from __future__ import annotations

import uuid
from typing import Literal

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models import Message, Source

Thumb = Literal["up", "down"]
BAD_SCORE = 2  # and below
GOOD_SCORE = 4  # and above; 3 points neither way


def thumb_of(score: int) -> Thumb | None:
    """Which way a score (1-5) points."""
    if score >= GOOD_SCORE:
        return "up"
    return "down" if score <= BAD_SCORE else None


class Rating(models.Model):
    """One user's rating of one answer (source is None) or of one of its sources. The next one replaces it."""

    class Tag(models.TextChoices):
        HELPFUL = "helpful", _("Helpful")
        ACCURATE = "accurate", _("Accurate")
        WRONG_SOURCE = "wrong_source", _("Wrong Source")
        OUTDATED = "outdated", _("Outdated")
        INCOMPLETE = "incomplete", _("Incomplete")
        WRONG_REASONING = "wrong_reasoning", _("Wrong Reasoning")
        STYLE = "style", _("Style")
        NOT_HELPFUL = "not_helpful", _("Not Helpful")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="ratings",
        verbose_name=_("user"),
    )
    message = models.ForeignKey(
        Message, on_delete=models.CASCADE, related_name="ratings", verbose_name=_("message")
    )
    source = models.ForeignKey(
        Source,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="ratings",
        verbose_name=_("source"),
    )
    score = models.PositiveSmallIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(5)], verbose_name=_("score")
    )
    tags = models.JSONField(default=list, blank=True, verbose_name=_("tags"))
    comment = models.TextField(blank=True, max_length=2000, verbose_name=_("comment"))
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    updated_at = models.DateTimeField(auto_now=True, verbose_name=_("updated at"))
    attributed_at = models.DateTimeField(
        null=True, editable=False
    )  # the `updated_at` that its evidence was drawn from

    class Meta:
        verbose_name = _("rating")
        verbose_name_plural = _("ratings")
        ordering = ["-updated_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "message"], condition=Q(source=None), name="one_rating_per_answer"
            ),
            models.UniqueConstraint(
                fields=["user", "source"],
                condition=Q(source__isnull=False),
                name="one_rating_per_source",
            ),
            models.CheckConstraint(
                condition=Q(score__gte=1, score__lte=5), name="rating_score_1_to_5"
            ),
        ]
        indexes = [models.Index(fields=["updated_at"])]

    def __str__(self) -> str:
        return f"{self.user}: {self.score}/5"

    @property
    def thumb(self) -> Thumb | None:
        """Which way the score points."""
        return thumb_of(self.score)

    @property
    def moved(self) -> dict[str, Thumb]:
        """What the live revision does with the passages that it counted for or against, by chunk id."""
        return {
            str(one.chunk): "up" if one.multiplier > 1 else "down"
            for one in getattr(self, "in_force", ())
        }
