"""What readers do with sources beside rating them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models import Source


class SourceUse(models.Model):
    """One user opened a source of their answer, or copied from it: when, and how likely it was to be looked at.

    place: where the page shows it among the answer's sources, from 1 (`feedback.ranking.exposure.places`).
    examined: 0..1, relative to the first place, as estimated when its evidence was drawn; empty until then.
    """

    class Action(models.TextChoices):
        OPENED = "opened", _("Opened")
        COPIED = "copied", _("Copied")

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="source_uses", verbose_name=_("user")
    )
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="uses", verbose_name=_("source"))
    opened_at = models.DateTimeField(null=True, blank=True, verbose_name=_("opened at"))
    copied_at = models.DateTimeField(null=True, blank=True, verbose_name=_("copied at"))
    place = models.PositiveSmallIntegerField(null=True, blank=True, verbose_name=_("place"))
    examined = models.FloatField(null=True, blank=True, verbose_name=_("examined"))
    updated_at = models.DateTimeField(auto_now=True, verbose_name=_("updated at"))
    attributed_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("The `updated_at` that its evidence was drawn from."),
        verbose_name=_("attributed at"),
    )

    class Meta:
        verbose_name = _("source use")
        verbose_name_plural = _("source uses")
        ordering = ["-updated_at"]
        constraints = [
            models.UniqueConstraint(fields=["user", "source"], name="one_use_per_source"),
            models.CheckConstraint(
                condition=Q(opened_at__isnull=False) | Q(copied_at__isnull=False), name="source_use_opened_or_copied"
            ),
        ]
        indexes = [models.Index(fields=["user", "updated_at"])]

    def __str__(self) -> str:
        return f"{self.user}: {self.action}"

    @property
    def action(self) -> str:
        """The one that says more."""
        return self.Action.COPIED if self.copied_at else self.Action.OPENED
