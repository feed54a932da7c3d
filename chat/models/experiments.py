"""Experiments: a share of people gets another workflow or other options, and ratings say which is better."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models.conversations import Message


class Experiment(models.Model):
    """A is what is asked by default, B its variant. One runs at most; without one nothing is different."""

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        RUNNING = "running", _("Running")
        STOPPED = "stopped", _("Stopped")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120, verbose_name=_("name"))
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT, verbose_name=_("state"))
    share = models.FloatField(
        default=0.5, validators=[MinValueValidator(0.05), MaxValueValidator(0.95)],
        help_text=_("Of the people that get variant B, 0.05 to 0.95."), verbose_name=_("share"),
    )  # fmt: skip
    workflow = models.CharField(max_length=40, blank=True, verbose_name=_("workflow of B"))
    options: Any = models.JSONField(default=dict, blank=True, verbose_name=_("options of B"))
    minimum = models.PositiveIntegerField(
        default=30, help_text=_("People of each variant who have rated, before anything is concluded."),
        verbose_name=_("minimum"),
    )  # fmt: skip
    salt = models.CharField(max_length=32, editable=False, verbose_name=_("salt"))
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("made by")
    )
    created_at = models.DateTimeField(auto_now_add=True, verbose_name=_("created at"))
    started_at = models.DateTimeField(null=True, blank=True, verbose_name=_("started at"))
    stopped_at = models.DateTimeField(null=True, blank=True, verbose_name=_("stopped at"))

    class Meta:
        verbose_name = _("experiment")
        verbose_name_plural = _("experiments")
        ordering = ["-created_at", "id"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["state"], condition=Q(state="running"), name="one_running_experiment"),
            models.CheckConstraint(condition=Q(share__gte=0.05, share__lte=0.95), name="experiment_share_in_range"),
        ]

    def __str__(self) -> str:
        return self.name


class ExperimentAnswer(models.Model):
    """An answer that was given in an experiment, and by which variant."""

    experiment = models.ForeignKey(
        Experiment, on_delete=models.CASCADE, related_name="answers", verbose_name=_("experiment")
    )
    message = models.OneToOneField(
        Message, on_delete=models.CASCADE, related_name="experiment", verbose_name=_("message")
    )
    arm = models.CharField(max_length=1, choices=[("A", "A"), ("B", "B")], verbose_name=_("variant"))

    class Meta:
        verbose_name = _("answer of an experiment")
        verbose_name_plural = _("answers of experiments")
        default_permissions = ()
        indexes = [models.Index(fields=["experiment", "arm"], name="experiment_arm")]

    def __str__(self) -> str:
        return f"{self.arm}: {self.message_id}"
