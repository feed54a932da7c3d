"""Stored questions answered again otherwise, at the review desk. No row of a conversation is touched by it."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from chat.models.conversations import Message
from ragsite.core.leases import Leased


class Replay(Leased):
    """One question answered again; leased to the process that does it. It goes with its conversation."""

    class Status(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        COMPLETE = "complete", _("Complete")
        FAILED = "failed", _("Failed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="replays")
    question = models.TextField()
    change: Any = models.JSONField(default=dict)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    result: Any = models.JSONField(null=True, blank=True, editable=False)
    summary: Any = models.JSONField(default=dict, blank=True, editable=False)
    error: Any = models.JSONField(null=True, blank=True, editable=False)
    wordings: Any = models.JSONField(default=dict, blank=True, editable=False)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "id"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["-created_at", "id"], name="replay_newest"),
            models.Index(
                fields=["created_at", "id"],
                condition=models.Q(status__in=["queued", "running"]),
                name="replay_open",
            ),
        ]

    def __str__(self) -> str:
        return self.question[:80]
