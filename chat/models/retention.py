"""Runs of the task that deletes what is older than the site keeps it."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ragsite.core.leases import Leased


class RetentionRun(Leased):
    """Leased to the process that deletes. One that was killed is gone on with by the next process.

    deleted: kind to how many rows. failed: kinds that could not be deleted, each with why.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        DONE = "done", _("Done")

    state = models.CharField(max_length=4, choices=State, default=State.OPEN, verbose_name=_("state"))
    started_at = models.DateTimeField(default=timezone.now, verbose_name=_("started at"))
    finished_at = models.DateTimeField(null=True, blank=True, verbose_name=_("finished at"))
    deleted: Any = models.JSONField(default=dict, blank=True, verbose_name=_("deleted"))
    failed: Any = models.JSONField(default=dict, blank=True, verbose_name=_("failed"))

    class Meta:
        verbose_name = _("retention run")
        verbose_name_plural = _("retention runs")
        ordering = ["-pk"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["state"], condition=models.Q(state="open"), name="one_open_retention_run")
        ]

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d}"
