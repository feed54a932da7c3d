"""Prompts as they were filled, where the site keeps them (where `RAGSITE_RETENTION_PATHS_DAYS` is set)."""

from __future__ import annotations

import zlib

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.conversations import Message


class FilledPrompt(models.Model):
    """What one call of a model was asked. step: `seq` in the answer's decision path; call: its place there, from 0.

    packed: system and user text, zlib. withheld: it held what is remembered for the user, and was not stored.
    """

    id = models.BigAutoField(primary_key=True)
    message = models.ForeignKey(  # stored as the steps are
        Message, on_delete=models.CASCADE, related_name="filled_prompts", db_constraint=False
    )
    step = models.PositiveSmallIntegerField()
    call = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=100)
    packed = models.BinaryField(default=bytes)
    withheld = models.BooleanField(default=False)
    at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        verbose_name = _("filled prompt")
        verbose_name_plural = _("filled prompts")
        ordering = ["message", "step", "call"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name}, step {self.step}"

    @property
    def text(self) -> str:
        return zlib.decompress(self.packed).decode() if self.packed else ""
