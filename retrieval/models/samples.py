"""Whether a user's questions search the sample documents."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class SamplePreference(models.Model):
    """Whether this user's questions leave the sample documents out; without a row, from the third own document on."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="sample_preference",
    )
    left_out = models.BooleanField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("choice about the samples")
        verbose_name_plural = _("choices about the samples")

    def __str__(self) -> str:
        return f"{self.user_id}: {self.left_out}"
